"""Reading a table of text cells, however it was saved: CSV of any separator, compressed or not, or Parquet."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import math
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fmim_core.data.findings import Findings

SEPARATORS = (",", ";", "\t", "|")
EXACT = 2**53  # up to here every whole number has a floating-point number of its own

Column = Callable[[int], list[str]]
"""Gives the cells of the column of that number, as they were written."""


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table's cells as stripped text.

    cells: columns by their names in lower case. places: where each row stands, e.g. "line 7".
    sha256: of the file's bytes as they lie on disk. unused: the names of columns that were not asked for.
    """

    path: Path
    sha256: str
    cells: pd.DataFrame
    places: list[str]
    unused: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.places)

    def column(self, name: str) -> list[str]:
        """A column's cells, blank ones where there is no such column."""
        return self.cells[name].tolist() if name in self.cells else [""] * len(self)


def read_table(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> TextTable:
    """The columns `required` and, where there, `optional` (lower case) of the table in `path`.

    Names of columns count without case and surrounding blanks. The separator is the one of `SEPARATORS` that gives
    the required columns; text is UTF-8 or, with its mark, UTF-16; gzip is undone. Blank lines are skipped. Parquet
    cells become the text that a CSV would have: missing ones blank, whole numbers without a point.

    Raises:
        ValueError: no such file, not such a table, a column missing or twice, a row of another length, a line break
            within a cell, or no rows.
    """
    content, sha256 = _content(path)
    parquet = content[:4] == b"PAR1" or path.suffix.lower() == ".parquet"
    header, column, place = _parquet(path, content) if parquet else _csv(path, content, required)
    names = _names(header)
    if missing := [name for name in required if name not in names]:
        known = f"; optional: {list(optional)}" if optional else ""
        raise ValueError(f"{path} lacks the columns {missing}; found: {[shortened(n) for n in names[:30]]}{known}")
    used = [name for name in (*required, *optional) if name in names]
    if twice := [name for name in used if names.count(name) > 1]:
        raise ValueError(f"{path} has the columns {twice} more than once: keep one of each")
    cells = {name: [cell.strip() for cell in column(names.index(name))] for name in used}
    places = [place(row) for row in range(len(cells[used[0]]))]
    if not places:
        raise ValueError(f"{path} has a header and no rows")
    _check_cells(path, cells, places)
    unused = tuple(shortened(name) for name in names if name and name not in used)
    return TextTable(path, sha256, pd.DataFrame(cells, dtype=object), places, unused)


def shortened(cell: str) -> str:
    """A cell for a message, at most 60 characters of it."""
    return cell if len(cell) <= 60 else f"{cell[:59]}…"


def _check_cells(path: Path, cells: dict[str, list[str]], places: list[str]) -> None:
    """Refuse cells with a line break: more often than not a quote was left open, and rows were swallowed."""
    findings = Findings()
    for name, column in cells.items():
        broken = [f"{place} {shortened(cell)!r}" for place, cell in zip(places, column, strict=True) if _broken(cell)]
        findings.error(f"{name} with a line break or a NUL character in it", broken)
    findings.refuse_errors(path)


def _broken(cell: str) -> bool:
    return "\n" in cell or "\r" in cell or "\0" in cell


def read_lines(path: Path) -> tuple[list[str], str]:
    """The lines of a list that are not blank, stripped, and the SHA-256 of the file's bytes.

    Raises:
        ValueError: no such file, or not UTF-8 text.
    """
    content, sha256 = _content(path)
    return [line.strip() for line in _text(path, content).splitlines() if line.strip()], sha256


def _content(path: Path) -> tuple[bytes, str]:
    """The file's bytes, unpacked if they are gzipped, and the SHA-256 of what lies on disk."""
    try:
        stored = path.read_bytes()
        content = gzip.decompress(stored) if stored[:2] == b"\x1f\x8b" else stored
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is a damaged gzip file: {error}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}. Give the path of a CSV or Parquet table.") from None
    return content, hashlib.sha256(stored).hexdigest()


def _text(path: Path, content: bytes) -> str:
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")  # a spreadsheet's "Unicode text"
    encoding = "UTF-16" if wide else "UTF-8"
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = _line(error.object[: error.start].decode(encoding, errors="replace"))
        raise ValueError(f"{path} is not {encoding} text (line {line}): save it as CSV UTF-8") from None
    before, nul, _ = text.partition("\0")
    if nul:
        what = f"a NUL character (line {_line(before)}), as damaged files have, and UTF-16 without its mark"
        raise ValueError(f"{path} has {what}: save it as CSV UTF-8")
    return text


def _line(before: str) -> int:
    """The number of the line that this text ends in."""
    return len(re.split(r"\r\n|\r|\n", before))


def _names(header: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in header]


def _csv(path: Path, content: bytes, required: Sequence[str]) -> tuple[list[str], Column, Callable[[int], str]]:
    text = _text(path, content)
    rows, places = _split(path, text, _separator(text, required))
    if not rows:
        raise ValueError(f"{path} is empty: its first line must name the columns {list(required)}")
    # Some programs end every line with a separator; cells beyond the header count only if something is in them.
    width = max((n + 1 for n, name in enumerate(rows[0]) if name.strip()), default=0)
    rows = [row[:width] if not any(cell.strip() for cell in row[width:]) else row for row in rows]
    findings = Findings()
    odd = [f"{place} has {len(row)}" for row, place in zip(rows, places, strict=True) if len(row) != width]
    findings.error(f"rows without the {width} cells of the header", odd)
    findings.refuse_errors(path)
    return rows[0], lambda number: [row[number] for row in rows[1:]], lambda row: places[row + 1]


def _separator(text: str, required: Sequence[str]) -> str:
    """The separator that finds most of the required columns; among equals the most frequent, then the first."""
    first = next((line for line in io.StringIO(text, newline="") if line.strip()), "")

    def found(separator: str) -> tuple[int, int]:
        try:
            names = _names(next(csv.reader([first], delimiter=separator), []))
        except csv.Error:  # told when the rows are split
            names = []
        return sum(name in names for name in required), first.count(separator)

    return max(SEPARATORS, key=found)


def _split(path: Path, text: str, separator: str) -> tuple[list[list[str]], list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows, places = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                places.append(f"line {reader.line_num}")
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable table (line {reader.line_num}): {error}") from None
    return rows, places


def _parquet(path: Path, content: bytes) -> tuple[list[str], Column, Callable[[int], str]]:
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content), page_checksum_verification=True)
        header = list(file.schema_arrow.names)
    except Exception as error:  # a reader fed damaged bytes raises nearly anything
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None

    def column(number: int) -> list[str]:
        try:
            (values,) = file.read(columns=[header[number]]).columns
            return [_as_text(value) for value in values.to_pylist()]
        except Exception as error:
            raise ValueError(f"{path} cannot be read as Parquet, column {header[number]!r}: {error}") from None

    return header, column, lambda row: f"row {row + 1}"


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
        if abs(value) >= EXACT:
            raise ValueError(f"a cell holds {value:g}, which floating-point numbers cannot tell from its neighbours")
        if value == int(value):  # whole numbers of a column with gaps come as 7.0
            return str(int(value))
    return str(value)
