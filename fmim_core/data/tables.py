"""Reading a table of text cells, however it was saved: CSV of any separator, compressed or not, Parquet or SAS."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from fmim_core.data.findings import Findings
from fmim_core.data.sas import is_sas, read_sas

SEPARATORS = (",", ";", "\t", "|")

Row = tuple[str, Sequence[str]]
"""Where a row stands, and its cells."""
Take = Callable[[Sequence[int]], list[Row]]
"""Reads the columns at these positions; a table of 1,000 columns is not turned to text for three of them."""


@dataclass(frozen=True, eq=False)
class TextTable:
    """A table's cells as stripped text.

    cells: columns by their names in lower case. places: where each row stands, e.g. "line 7".
    sha256: of the file's bytes as they lie on disk.
    """

    path: Path
    sha256: str
    cells: pd.DataFrame
    places: list[str]

    def __len__(self) -> int:
        return len(self.places)

    def column(self, name: str) -> list[str]:
        """A column's cells, blank ones where there is no such column."""
        return self.cells[name].tolist() if name in self.cells else [""] * len(self)


def read_table(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
    fallback: str | None = None,
) -> TextTable:
    """The columns `required` and, where there, `optional` (lower case) of the table in `path`.

    Names of columns count without case and surrounding blanks. The separator is the one of `SEPARATORS` that gives
    the required columns; text is UTF-8 or, with its mark, UTF-16; gzip is undone. Blank lines are skipped. A SAS
    table's missing numbers are blank cells.

    Args:
        same: other names of columns, as other editions of a table have them → the name asked for.
        fallback: encoding of text that is not UTF-8, where a table is known to have such.

    Raises:
        ValueError: no such file, not such a table, a column missing or twice, a row of another length, or no rows.
    """
    content, sha256 = _content(path)
    same = same or {}
    if content[:4] == b"PAR1" or path.suffix.lower() == ".parquet":
        header, take = _parquet(path, content)
    elif is_sas(content) or path.suffix.lower() in (".sas7bdat", ".xpt"):
        header, take = _columns(read_sas(path, content), _sas_cell)
    else:
        wanted = [*required, *(name for name, other in same.items() if other in required)]
        header, take = _csv(path, content, wanted, fallback)
    names = [same.get(name, name) for name in _names(header)]
    if missing := [name for name in required if name not in names]:
        known = f"; optional: {list(optional)}" if optional else ""
        raise ValueError(f"{path} lacks the columns {missing}; found: {names[:30]}{known}")
    used = [name for name in (*required, *optional) if name in names]
    if twice := [name for name in used if names.count(name) > 1]:
        raise ValueError(f"{path} has the columns {twice} more than once: keep one of each")
    rows = take([names.index(name) for name in used])
    if not rows:
        raise ValueError(f"{path} has a header and no rows")
    cells = pd.DataFrame([[cell.strip() for cell in row] for _, row in rows], columns=used, dtype=object)
    return TextTable(path, sha256, cells, [place for place, _ in rows])


def read_lines(path: Path) -> tuple[list[str], str]:
    """The lines of a list that are not blank, stripped, and the SHA-256 of the file's bytes.

    Raises:
        ValueError: no such file, or not UTF-8 text.
    """
    content, sha256 = _content(path)
    return [line.strip() for line in _open_text(path, content).read().splitlines() if line.strip()], sha256


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


def _open_text(path: Path, content: bytes, fallback: str | None = None) -> TextIO:
    """The content decoded piece by piece: a table of 50 MB is not held as text too."""
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")  # a spreadsheet's "Unicode text"
    encoding = "utf-16" if wide else "utf-8-sig"
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        if not fallback:
            line = content[: error.start].count(b"\n") + 1
            raise ValueError(f"{path} is not UTF-8 text (line {line}): save it as CSV UTF-8") from None
        encoding = fallback
    return io.TextIOWrapper(io.BytesIO(content), encoding, newline="")


def _names(header: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in header]


def _csv(path: Path, content: bytes, wanted: Sequence[str], fallback: str | None) -> tuple[list[str], Take]:
    text = _open_text(path, content, fallback)
    lines = _split(path, text, _separator(text, wanted))
    _, header = next(lines, ("", []))
    if not header:
        raise ValueError(f"{path} is empty: its first line must name the columns {list(wanted)}")
    # Some programs end every line with a separator; cells beyond the header count only if something is in them. Where
    # the header ends with one, a row without it must not end blank: it may as well lack a cell.
    width = max((n + 1 for n, name in enumerate(header) if name.strip()), default=0)

    def take(positions: Sequence[int]) -> list[Row]:
        rows: list[Row] = []
        odd = []
        for place, row in lines:
            whole = len(row) >= len(header) and not "".join(row[width:]).strip()
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
    """The separator that finds most of the wanted columns; among equals the most frequent, then the first."""
    first = next((line for line in text if line.strip()), "")
    text.seek(0)

    def found(separator: str) -> tuple[int, int]:
        names = _names(next(csv.reader([first], delimiter=separator), []))
        return sum(name in names for name in wanted), first.count(separator)

    return max(SEPARATORS, key=found)


def _split(path: Path, text: TextIO, separator: str) -> Iterator[Row]:
    """The rows with something in them, the header first."""
    reader = csv.reader(text, delimiter=separator, strict=True)
    try:
        for row in reader:
            if any(row) and any(cell.strip() for cell in row):
                yield f"line {reader.line_num}", row
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable table (line {reader.line_num}): {error}") from None


def _parquet(path: Path, content: bytes) -> tuple[list[str], Take]:
    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except (ImportError, OSError, ValueError, TypeError, NotImplementedError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    return _columns(frame, str)


def _sas_cell(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _columns(frame: pd.DataFrame, text: Callable[[Any], str]) -> tuple[list[str], Take]:
    def take(positions: Sequence[int]) -> list[Row]:
        part = frame.iloc[:, list(positions)]
        cells = part.astype(object).where(part.notna(), "").map(text)
        return [(f"row {n + 1}", row) for n, row in enumerate(cells.to_numpy().tolist())]

    return [str(name) for name in frame.columns], take
