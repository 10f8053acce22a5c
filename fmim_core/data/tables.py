"""Reading a table of text cells, however it was saved: CSV of any separator, compressed or not, or Parquet."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fmim_core.data.findings import Findings

SEPARATORS = (",", ";", "\t", "|")

Rows = list[list[str]]


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


def read_table(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> TextTable:
    """The columns `required` and, where there, `optional` (lower case) of the table in `path`.

    Names of columns count without case and surrounding blanks. The separator is the one of `SEPARATORS` that gives
    the required columns; text is UTF-8 or, with its mark, UTF-16; gzip is undone. Blank lines are skipped.

    Raises:
        ValueError: no such file, not such a table, a column missing or twice, a row of another length, or no rows.
    """
    content, sha256 = _content(path)
    parquet = content[:4] == b"PAR1" or path.suffix.lower() == ".parquet"
    header, rows, places = _parquet(path, content) if parquet else _csv(path, content, required)
    names = _names(header)
    if missing := [name for name in required if name not in names]:
        known = f"; optional: {list(optional)}" if optional else ""
        raise ValueError(f"{path} lacks the columns {missing}; found: {names[:30]}{known}")
    used = [name for name in (*required, *optional) if name in names]
    if twice := [name for name in used if names.count(name) > 1]:
        raise ValueError(f"{path} has the columns {twice} more than once: keep one of each")
    if not rows:
        raise ValueError(f"{path} has a header and no rows")
    cells = {name: [row[at].strip() for row in rows] for name, at in ((name, names.index(name)) for name in used)}
    return TextTable(path, sha256, pd.DataFrame(cells, dtype=object), places)


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
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path} is not UTF-8 text (line {line}): save it as CSV UTF-8") from None


def _names(header: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in header]


def _csv(path: Path, content: bytes, required: Sequence[str]) -> tuple[list[str], Rows, list[str]]:
    text = _text(path, content)
    rows, places = _split(path, text, _separator(text, required))
    if not rows:
        raise ValueError(f"{path} is empty: its first line must name the columns {list(required)}")
    # Some programs end every line with a separator; cells beyond the header count only if something is in them.
    width = max((n + 1 for n, name in enumerate(rows[0]) if name.strip()), default=0)
    rows = [row if len(row) <= width or "".join(row[width:]).strip() else row[:width] for row in rows]
    findings = Findings()
    odd = [f"{place} has {len(row)}" for row, place in zip(rows, places, strict=True) if len(row) != width]
    findings.error(f"rows without the {width} cells of the header", odd)
    findings.refuse_errors(path)
    return rows[0], rows[1:], places[1:]


def _separator(text: str, required: Sequence[str]) -> str:
    """The separator that finds most of the required columns; among equals the most frequent, then the first."""
    first = next((line for line in io.StringIO(text, newline="") if line.strip()), "")

    def found(separator: str) -> tuple[int, int]:
        names = _names(next(csv.reader([first], delimiter=separator), []))
        return sum(name in names for name in required), first.count(separator)

    return max(SEPARATORS, key=found)


def _split(path: Path, text: str, separator: str) -> tuple[Rows, list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows, places = [], []
    try:
        for row in reader:
            if "".join(row).strip():
                rows.append(row)
                places.append(f"line {reader.line_num}")
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable table (line {reader.line_num}): {error}") from None
    return rows, places


def _parquet(path: Path, content: bytes) -> tuple[list[str], Rows, list[str]]:
    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except (ImportError, OSError, ValueError, TypeError, NotImplementedError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    cells = frame.astype(object).where(frame.notna(), "").map(str)
    places = [f"row {n + 1}" for n in range(len(cells))]
    return [str(name) for name in frame.columns], cells.to_numpy().tolist(), places
