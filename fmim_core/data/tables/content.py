"""The bytes of a table's file, unpacked, or why they are not read."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from pathlib import Path
from typing import BinaryIO

from fmim_core.data.files import other_than_file
from fmim_core.data.tables.limits import MAX_LINE_BYTES, check_bytes
from fmim_core.data.tables.sas import SAS7BDAT, XPORT

GZIP, PARQUET, ZIP = b"\x1f\x8b", b"PAR1", b"PK"
_WITHOUT_LINES = (GZIP, PARQUET, ZIP, SAS7BDAT, XPORT)
"""How the formats begin that are no text."""


def read_content(path: Path) -> tuple[bytes, str]:
    """The file's bytes, unpacked if they are gzipped, and the SHA-256 of what lies on disk.

    Raises:
        ValueError: no such file, no regular one (a pipe is not opened), damaged gzip, more than `MAX_BYTES`, or text
            with a line beyond `MAX_LINE_BYTES`.
    """
    try:
        if other := other_than_file(path):
            raise ValueError(f"{path} cannot be read: it is {other}. Give the path of a CSV or Parquet table.")
        with open(path, "rb") as file:
            content = stored = _read_bounded(path, file)
        if stored.startswith(GZIP):
            content = _read_bounded(path, gzip.GzipFile(fileobj=io.BytesIO(stored)))
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is a damaged gzip file: {error}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}. Give the path of a CSV or Parquet table.") from None
    return content, hashlib.sha256(stored).hexdigest()


def _read_bounded(path: Path, file: BinaryIO | gzip.GzipFile) -> bytes:
    """All of `file`, piece by piece, so that what is refused was not held."""
    content = io.BytesIO()
    piece = file.read(MAX_LINE_BYTES)
    is_text = not piece.startswith(_WITHOUT_LINES)
    while piece:
        check_bytes(path, content.tell() + len(piece))
        if is_text and len(piece) == MAX_LINE_BYTES and b"\n" not in piece and b"\r" not in piece:
            raise ValueError(f"{path} has a line of more than {MAX_LINE_BYTES} bytes: it is damaged, or not a table")
        content.write(piece)
        piece = file.read(MAX_LINE_BYTES)
    return content.getvalue()
