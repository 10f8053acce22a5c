"""The formats of `tables.py`: each gives a table's header, and its rows as text for the columns that are asked for."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from fmim_core.data.tables.cells import visible
from fmim_core.data.tables.findings import Findings
from fmim_core.data.tables.limits import check_bytes, check_rows

SEPARATORS = (",", ";", "\t", "|")
_STATED = re.compile(rf"\"?sep=([{re.escape(''.join(SEPARATORS))}])\"?", re.IGNORECASE)
MAX_EXACT_INTEGER = 2**53  # up to here every whole number has a floating-point number of its own

TextRow = tuple[str, Sequence[str]]
"""Where a row stands, and its cells."""
ReadColumns = Callable[[Sequence[int]], list[TextRow]]
"""Reads the columns at these positions; a table of 1,000 columns is not turned to text for three of them."""


def shortened(cell: str) -> str:
    """A cell for a message, at most 60 characters of it."""
    return cell if len(cell) <= 60 else f"{cell[:59]}…"


def lower(header: Sequence[str]) -> list[str]:
    """Names of columns as they are compared."""
    return [visible(name).strip().lower() for name in header]


def open_text(path: Path, content: bytes, fallback: str | None = None) -> TextIO:
    """The content decoded piece by piece: a table of 50 MB is not held as text too.

    Raises:
        ValueError: not text of that encoding, or text with NUL characters.
    """
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")  # a spreadsheet's "Unicode text"
    encoding = "utf-16" if wide else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        if not fallback:
            line = _line(error.object[: error.start].decode(encoding, errors="replace"))
            name = "UTF-16" if wide else "UTF-8"
            raise ValueError(f"{path} is not {name} text (line {line}): save it as CSV UTF-8") from None
        encoding = fallback
        text = content.decode(encoding, errors="replace")
    before, nul, _ = text.partition("\0")
    if nul:
        what = f"a NUL character (line {_line(before)}), as damaged files have, and UTF-16 without its mark"
        raise ValueError(f"{path} has {what}: save it as CSV UTF-8")
    return io.TextIOWrapper(io.BytesIO(content), encoding, newline="")


def _line(before: str) -> int:
    """The number of the line that this text ends in."""
    return len(re.split(r"\r\n|\r|\n", before))


def open_csv(path: Path, content: bytes, wanted: Sequence[str], fallback: str | None) -> tuple[list[str], ReadColumns]:
    """A CSV's header and rows; the rows are read once.

    Raises:
        ValueError: not text, not a table, too many rows, or rows of another length than the header.
    """
    text = open_text(path, content, fallback)
    lines = _split(path, text, _separator(text, wanted))
    _, header = next(lines, ("", []))
    if _stated_separator(",".join(header)):  # the rows are split by it, and their lines counted from it
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
            check_rows(path, len(rows) + 1)
            if whole or (len(row) == width and row[-1].strip()):
                rows.append((place, [row[position] for position in positions]))
            else:
                odd.append(f"{place} has {len(row)}")
        findings = Findings()
        findings.error(f"rows without the {len(header)} cells of the header", odd)
        findings.refuse_errors(path)
        return rows

    return list(header[:width]), take


def _separator(text: TextIO, wanted: Sequence[str]) -> str:
    """The separator that finds most of the wanted columns; among equals the most frequent, then the first.

    A first line sep=; says itself which it is.
    """
    first = next((line for line in text if line.strip()), "")
    text.seek(0)
    if stated := _stated_separator(first.strip("\r\n")):
        return stated

    def found(separator: str) -> tuple[int, int]:
        try:
            names = lower(next(csv.reader([first], delimiter=separator), []))
        except csv.Error:  # told when the rows are split
            names = []
        return sum(name in names for name in wanted), first.count(separator)

    return max(SEPARATORS, key=found)


def _stated_separator(line: str) -> str | None:
    found = _STATED.fullmatch(line)
    return found[1] if found else None


def _split(path: Path, text: TextIO, separator: str) -> Iterator[TextRow]:
    """The rows with something in them, the header first."""
    reader = csv.reader(text, delimiter=separator, strict=True)
    try:
        for row in reader:
            if any(row) and any(cell.strip() for cell in row):
                yield f"line {reader.line_num}", row
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable table (line {reader.line_num}): {error}") from None


def open_parquet(path: Path, content: bytes) -> tuple[list[str], ReadColumns]:
    """A Parquet file's header and rows.

    Raises:
        ValueError: a file that cannot be read, is too large, or has cells that are no text or number.
    """
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content), page_checksum_verification=True)
        header = list(file.schema_arrow.names)
    except Exception as error:  # a reader fed damaged bytes raises nearly anything
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    check_rows(path, file.metadata.num_rows)
    check_bytes(path, sum(file.metadata.row_group(n).total_byte_size for n in range(file.metadata.num_row_groups)))

    def column(number: int) -> list[str]:
        try:
            (values,) = file.read(columns=[header[number]]).columns
            return [_as_text(value) for value in values.to_pylist()]
        except Exception as error:
            raise ValueError(f"{path} cannot be read as Parquet, column {header[number]!r}: {error}") from None

    def take(positions: Sequence[int]) -> list[TextRow]:
        columns = [column(position) for position in positions]
        if len({len(cells) for cells in columns}) > 1:  # a damaged page can shorten one
            raise ValueError(f"{path} cannot be read as Parquet: its columns differ in length")
        return [(f"row {n}", row) for n, row in enumerate(zip(*columns, strict=True), start=1)]

    return header, take


def _as_text(value: Any) -> str:
    """A Parquet cell as a CSV would have it.

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
            raise ValueError(f"a cell holds {value:g}, which floating-point numbers cannot tell from its neighbours")
        if value == int(value):  # whole numbers of a column with gaps come as 7.0
            return str(int(value))
    return str(value)


def open_frame(frame: pd.DataFrame) -> tuple[list[str], ReadColumns]:
    """Header and rows of a frame that was read from SAS, whose numbers are all floating-point."""

    def text(value: Any) -> str:
        return f"{value:.15g}" if isinstance(value, float) else str(value)

    def take(positions: Sequence[int]) -> list[TextRow]:
        part = frame.iloc[:, list(positions)]
        cells = part.astype(object).where(part.notna(), "").map(text)
        return [(f"row {n + 1}", row) for n, row in enumerate(cells.to_numpy().tolist())]

    return [str(name) for name in frame.columns], take
