"""Reading a table of text cells, however it was saved: CSV of any separator, compressed or not, Parquet or SAS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fmim_core.data.tables.findings import Findings, shortened
from fmim_core.data.tables.formats import (
    SAS7BDAT,
    XPORT,
    TextRow,
    as_text,
    lower,
    open_csv,
    open_parquet,
    open_sas,
    read_content,
)


@dataclass(frozen=True, eq=False)
class ReadTable:
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

    def where(self, odd: Iterable[object], name: str | None = None) -> list[str]:
        """Return the places of the rows that are odd, with their cell of the column of that name."""
        cells = self.column(name) if name else [""] * len(self)
        rows = zip(self.places, cells, odd, strict=True)
        return [f"{place} {shortened(cell)!r}" if name else place for place, cell, is_odd in rows if is_odd]

    def column(self, name: str) -> list[str]:
        """Return a column's cells, blank ones where there is no such column."""
        return self.cells[name].tolist() if name in self.cells else [""] * len(self)


def read_table(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
    fallback: str | None = None,
    instead: Mapping[str, str] | None = None,
) -> ReadTable:
    """Read the columns `required` and, where there, `optional` (lower case) of the table in `path`.

    Names of columns count without case, surrounding blanks and what has no width. The separator is the one of
    `SEPARATORS` that gives the required columns, or that of a first line sep=; as spreadsheets write it; text is UTF-8
    or, with its mark, UTF-16; gzip is undone. Blank lines are skipped. Parquet and SAS cells become the text that a CSV
    would have: missing ones blank, whole numbers without a point. SAS needs the extra `sas`.

    Args:
        same: other names of columns, as other editions of a table have them → the name asked for.
        fallback: encoding of text that is not UTF-8, where a table is known to have such.
        instead: a required column → the optional one with which it may be lacking.

    Raises:
        ValueError: no such file or no regular one, too large, not such a table, a column missing or
            twice, a row of another length, a line break within a cell, or no rows.
    """
    content, sha256 = read_content(path)
    same, instead = same or {}, instead or {}
    if content.startswith(b"PAR1") or path.suffix.lower() == ".parquet":
        header, take = open_parquet(path, content)
    elif content.startswith((SAS7BDAT, XPORT)) or path.suffix.lower() in (".sas7bdat", ".xpt"):
        header, take = open_sas(path, content)
    else:
        wanted = [*required, *(name for name, other in same.items() if other in required)]
        header, take = open_csv(path, as_text(path, content, fallback), wanted)
    names = [same.get(name, name) for name in lower(header)]
    if missing := [name for name in required if name not in names and instead.get(name) not in names]:
        known = f"; optional: {list(optional)}" if optional else ""
        known += "".join(f"; {instead[name]!r} can replace {name!r}" for name in missing if name in instead)
        raise ValueError(f"{path} lacks the columns {missing}; found: {[shortened(n) for n in names[:30]]}{known}")
    used = [name for name in (*required, *optional) if name in names]
    if twice := [name for name in used if names.count(name) > 1]:
        raise ValueError(f"{path} has the columns {twice} more than once: keep one of each")
    rows = take([names.index(name) for name in used])
    if not rows:
        raise ValueError(f"{path} has a header but no rows")
    cells = pd.DataFrame([[cell.strip() for cell in row] for _, row in rows], columns=used, dtype=object)
    _check_cells(path, used, rows)
    unused = tuple(shortened(name) for name in names if name and name not in used)
    return ReadTable(path, sha256, cells, [place for place, _ in rows], unused)


def _check_cells(path: Path, names: Sequence[str], rows: Sequence[TextRow]) -> None:
    """Refuse cells with a line break: more often than not a quote was left open, and rows were swallowed."""
    findings = Findings()
    for at, name in enumerate(names):
        broken = [f"{place} {shortened(row[at])!r}" for place, row in rows if set("\n\r\0") & set(row[at].strip())]
        findings.error(f"{name} with a line break or a NUL character in it", broken)
    findings.refuse_errors(path)


def read_lines(path: Path) -> tuple[list[str], str]:
    """Return the lines of a list that are not blank, stripped, and the SHA-256 of the file's bytes.

    Raises:
        ValueError: no such file, or not UTF-8 text.
    """
    content, sha256 = read_content(path)
    return [line.strip() for line in as_text(path, content).splitlines() if line.strip()], sha256
