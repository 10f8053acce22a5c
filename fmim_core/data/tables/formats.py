"""The formats of tables: the bytes of a file, unpacked; and of each format a header and the rows as text."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import math
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fmim_core.data.tables.cells import one_form
from fmim_core.data.tables.findings import Findings, shortened
from fmim_core.records import other_than_file

SEPARATORS = (",", ";", "\t", "|")
MAX_BYTES = 2**28  # unpacked; the tables of ChestX-ray14 have 10 MB, the OAI's up to 50
MAX_ROWS = 10_000_000
MAX_EXACT_INTEGER = 2**53  # up to here every whole number has a floating-point number of its own
SAS7BDAT = bytes(12) + b"\xc2\xea\x81\x60"
XPORT = b"HEADER RECORD*******LIB"
SAS_EXTRA = "reading SAS tables needs pyreadstat: pip install 'fmim-studies[sas]'"

TextRow = tuple[str, Sequence[str]]
"""The place of a row, and its cells."""
ReadColumns = Callable[[Sequence[int]], list[TextRow]]
"""A reader of the columns at these positions; a table of 1,000 columns is not turned to text for three of them."""


def read_content(path: Path) -> tuple[bytes, str]:
    """Return the file's bytes, unpacked if they are gzipped, and the SHA-256 of what lies on disk.

    Raises:
        ValueError: no such file, no regular one (a pipe is not opened), damaged gzip, or more than `MAX_BYTES`.
    """
    try:
        if other := other_than_file(path):
            raise ValueError(f"{path} cannot be read: it is {other}. Give the path of a CSV or Parquet table.")
        with open(path, "rb") as file:
            content = stored = file.read(MAX_BYTES + 1)
        check_bytes(path, len(stored))
        if stored.startswith(b"\x1f\x8b"):
            with gzip.open(io.BytesIO(stored)) as packed:  # measured before it is kept: a bomb unpacks to gigabytes
                check_bytes(path, packed.seek(MAX_BYTES + 1))
                packed.rewind()
                content = packed.read()
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is a damaged gzip file: {error}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}. Give the path of a CSV or Parquet table.") from None
    return content, hashlib.sha256(stored).hexdigest()


def check_bytes(path: Path, count: int) -> None:
    """Raise a `ValueError` for a table of more than `MAX_BYTES` bytes, unpacked."""
    if count > MAX_BYTES:
        raise ValueError(f"{path} has more than {MAX_BYTES} bytes, the limit for a table: split it")


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
        what = f"a NUL character (line {line}): it is damaged, or UTF-16 without a byte-order mark"
        raise ValueError(f"{path} has {what}; save it as CSV UTF-8")
    return text


def lower(header: Sequence[str]) -> list[str]:
    """Return names of columns as they are compared."""
    return [one_form(name).strip().lower() for name in header]


def open_csv(path: Path, text: str, wanted: Sequence[str]) -> tuple[list[str], ReadColumns]:
    """Return a CSV's header, and what reads its rows, once.

    Raises:
        ValueError: not a table, or rows of another length than the header.
    """
    lines = _rows(path, text, wanted)
    _, header = next(lines, ("", []))
    if not header:
        raise ValueError(f"{path} is empty: its first line must name the columns {list(wanted)}")
    # Some programs end every line with a separator; cells beyond the header count only if something is in them. Where
    # the header ends with one, a row without it must not end blank: it may as well lack a cell.
    width = max((n + 1 for n, name in enumerate(header) if name.strip()), default=0)

    def take(positions: Sequence[int]) -> list[TextRow]:
        rows: list[TextRow] = []
        odd = []
        for place, row in lines:
            whole = len(row) >= len(header) and not "".join(row[width:]).strip()
            if whole or (len(row) == width and row[-1].strip()):
                rows.append((place, [row[position] for position in positions]))
            else:
                odd.append(f"{place} has {len(row)}")
        findings = Findings()
        findings.error(f"rows that do not have {len(header)} cells like the header", odd)
        findings.refuse_errors(path)
        return rows

    return list(header[:width]), take


def _rows(path: Path, text: str, wanted: Sequence[str]) -> Iterator[TextRow]:
    """Yield the rows with something in them, the header first.

    The separator is that of a first line sep=, as spreadsheets write it, or else the one that finds most of the wanted
    columns; among equals the most frequent, then the first. The csv module's Sniffer, which guesses from cells, takes
    a table of one column for several.
    """
    first = re.match(r"\s*([^\r\n]*)", text)
    line = first[1] if first else ""
    stated = re.fullmatch(rf"\"?sep=([{''.join(SEPARATORS)}])\"?", line, re.IGNORECASE)

    def found(separator: str) -> tuple[int, int]:
        names = lower([name.strip('"') for name in line.split(separator)])
        return sum(name in names for name in wanted), line.count(separator)

    separator = stated[1] if stated else max(SEPARATORS, key=found)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row) and not (stated and separator.join(row) == line.strip('"')):
                yield f"line {reader.line_num}", row
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable table (line {reader.line_num}): {error}") from None


def open_parquet(path: Path, content: bytes) -> tuple[list[str], ReadColumns]:
    """Return a Parquet file's header, and what reads its rows.

    Raises:
        ValueError: a file that cannot be read, has too many rows, or has cells that are no text or number.
    """
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content), page_checksum_verification=True)
        header = list(file.schema_arrow.names)
    except Exception as error:  # a reader fed damaged bytes raises nearly anything
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    if file.metadata.num_rows > MAX_ROWS:  # equal rows take no place in a file
        raise ValueError(f"{path} has more than {MAX_ROWS} rows, the limit for a Parquet table: split it")

    def column(number: int) -> list[str]:
        try:
            (values,) = file.read(columns=[header[number]]).columns
            return [_parquet_cell(value) for value in values.to_pylist()]
        except Exception as error:
            raise ValueError(f"{path} cannot be read as Parquet, column {header[number]!r}: {error}") from None

    def take(positions: Sequence[int]) -> list[TextRow]:
        columns = [column(position) for position in positions]
        if len({len(cells) for cells in columns}) > 1:  # a damaged page can shorten one
            raise ValueError(f"{path} cannot be read as Parquet: its columns differ in length")
        return [(f"row {n}", row) for n, row in enumerate(zip(*columns, strict=True), start=1)]

    return header, take


def _parquet_cell(value: Any) -> str:
    """Return a cell as a CSV would have it.

    Raises:
        ValueError: a list, a structure, bytes that are not text, or a number too large to be exact in its column.
    """
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | dict | tuple):
        raise ValueError(f"a cell holds {shortened(repr(value))}, not a text or a number")
    if isinstance(value, float) and math.isfinite(value):
        if abs(value) >= MAX_EXACT_INTEGER:
            raise ValueError(f"a cell holds {value:g}, too large for an exact float: save the column as text")
        if value == int(value):  # whole numbers of a column with gaps come as 7.0
            return str(int(value))
    return str(value)


def open_sas(path: Path, content: bytes) -> tuple[list[str], ReadColumns]:
    """Return the header of a SAS table, `.sas7bdat` or `.xpt`, and what reads its rows; text is taken as Latin-1.

    Raises:
        ValueError: not a SAS table, a damaged one, or pyreadstat is not installed.
    """
    try:
        import pyreadstat
    except ImportError:
        raise ValueError(f"{path}: {SAS_EXTRA}") from None
    xport = content.startswith(XPORT)
    read: Any = pyreadstat.read_xport if xport else pyreadstat.read_sas7bdat
    try:
        if xport and len(content) % 80:  # a card; blanks fill up the last one
            raise ValueError("it is cut off: its size is not a multiple of 80 bytes")
        options = {"encoding": "latin1", "disable_datetime_conversion": True}
        frame, _ = read(io.BytesIO(content), **options)
    except Exception as error:  # a decoder fed damaged bytes raises nearly anything
        raise ValueError(f"{path} cannot be read as SAS: {error}") from None

    def text(value: Any) -> str:
        return f"{value:.15g}" if isinstance(value, float) else str(value)

    def take(positions: Sequence[int]) -> list[TextRow]:
        part = frame.iloc[:, list(positions)]
        cells = part.astype(object).where(part.notna(), "").map(text)
        return [(f"row {n + 1}", row) for n, row in enumerate(cells.to_numpy().tolist())]

    return [str(name) for name in frame.columns], take
