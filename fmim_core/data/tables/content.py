"""The bytes of a table's file, unpacked, or why they are not read."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from pathlib import Path
from typing import BinaryIO

from fmim_core.data.files import other_than_file

MAX_BYTES = 2**30  # unpacked; the tables of ChestX-ray14 have 10 MB, the OAI's up to 50


def read_content(path: Path) -> tuple[bytes, str]:
    """Return the file's bytes, unpacked if they are gzipped, and the SHA-256 of what lies on disk.

    Raises:
        ValueError: no such file, no regular one (a pipe is not opened), damaged gzip, or more than `MAX_BYTES`.
    """
    try:
        if other := other_than_file(path):
            raise ValueError(f"{path} cannot be read: it is {other}. Give the path of a CSV or Parquet table.")
        with open(path, "rb") as file:
            content = stored = _bounded(path, file)
        if stored.startswith(b"\x1f\x8b"):
            content = _bounded(path, gzip.GzipFile(fileobj=io.BytesIO(stored)))
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is a damaged gzip file: {error}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}. Give the path of a CSV or Parquet table.") from None
    return content, hashlib.sha256(stored).hexdigest()


def _bounded(path: Path, file: BinaryIO | gzip.GzipFile) -> bytes:
    content = file.read(MAX_BYTES + 1)
    check_bytes(path, len(content))
    return content


def check_bytes(path: Path, count: int) -> None:
    """Raise a `ValueError` for a table of more than `MAX_BYTES` bytes, unpacked."""
    if count > MAX_BYTES:
        raise ValueError(f"{path} holds more than {MAX_BYTES} bytes, the limit of a table: split it")


def as_text(path: Path, content: bytes, fallback: str | None = None) -> str:
    """Return the content as text, UTF-8 or, with its mark, UTF-16.

    Args:
        fallback: encoding of text that is not UTF-8, where a table is known to have such.

    Raises:
        ValueError: not text of that encoding, or text with NUL characters.
    """
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"  # a spreadsheet's "Unicode text"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if not fallback:
            line = 1 + error.object[: error.start].count(b"\n")
            raise ValueError(
                f"{path} is not {encoding.removesuffix('-sig').upper()} text (line {line}): save it as CSV UTF-8"
            ) from None
        text = content.decode(fallback, errors="replace")
    if "\0" in text:
        line = 1 + text.partition("\0")[0].count("\n")
        what = f"a NUL character (line {line}), as damaged files have, and UTF-16 without its mark"
        raise ValueError(f"{path} has {what}: save it as CSV UTF-8")
    return text
