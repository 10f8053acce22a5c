"""Rows of the OAI's tables in any of their editions, and what their coded cells mean."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fmim_core.data.tables.cells import NUMBER
from fmim_core.data.tables.findings import Finding, Severity
from fmim_core.data.tables.reading import read_table

# ".: Missing Form/Incomplete Workbook", ".A: Not Expected", ".M", and what SAS has as no number.
MISSING = re.compile(r"nan|(\.[A-Z_]?\s*(:.*)?)?", re.IGNORECASE | re.ASCII | re.DOTALL)
CODE = re.compile(rf"({NUMBER.pattern})\s*(:.*)?", re.ASCII | re.DOTALL)  # "2", "2.0", "2: Left"
SITE = re.compile(r"([A-E])\s*(:.*)?", re.IGNORECASE | re.DOTALL)
ID = re.compile(r"0*([1-9]\d*)(\.0*)?", re.ASCII)  # "9000001", and "9000001.0" as a spreadsheet or SAS has it

Key = TypeVar("Key", str, tuple[str, int], tuple[str, int, str], tuple[str, str])


@dataclass(frozen=True)
class TableRow:
    """A table's row: where it stands, whose it is (the ID's digits), and its cells by column."""

    place: str
    subject: str
    cells: Mapping[str, str]


class RowReader:
    """A reader of the tables of one folder that notices once, over all of them, each kind of thing that is wrong.

    `files` gets each table's name → SHA-256, `versions` what its column VERSION says, where it has one.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._noticed: dict[tuple[Severity, str], list[str]] = defaultdict(list)
        self.files: dict[str, str] = {}
        self.versions: dict[str, str] = {}

    def rows(
        self, path: str, required: Sequence[str], optional: Sequence[str] = (), same: Mapping[str, str] | None = None
    ) -> list[TableRow]:
        """Return the rows with an ID, without the dictionary that one edition has as its second line.

        Raises:
            ValueError: the table cannot be read, or lacks a required column.
        """
        table = read_table(self._root / path, ("id", *required), (*optional, "version"), same, fallback="latin-1")
        self.files[path] = table.sha256
        rows = []
        records: Any = table.cells.to_dict("records")
        for n, (place, cells) in enumerate(zip(table.places, records, strict=True)):
            if found := ID.fullmatch(cells["id"]):
                rows.append(TableRow(f"{path} {place}", found[1], cells))
            elif n == 0 and not any(of.fullmatch(text) for text in cells.values() for of in (MISSING, CODE, SITE)):
                self._noticed["note", "second lines taken as their table's dictionary"].append(f"{path} {place}")
            else:
                self.notice("rows without an ID of digits, left out", f"{path} {place}", cells["id"])
        if told := sorted({row.cells["version"] for row in rows if row.cells.get("version")}):
            self.versions[path] = ", ".join(told)
        return rows

    def cell(self, row: TableRow, column: str, known: Callable[[str], Any], what: str, unknown: Any = "") -> Any:
        """Return the cell through `known`, whose None marks a mistake: noticed as `what`, and `unknown` in its place.

        A cell marked as missing, or no such column, is `unknown` and nothing to notice.
        """
        text = row.cells.get(column, "")
        return unknown if MISSING.fullmatch(text) else self.key(row, column, known, what, unknown)

    def key(self, row: TableRow, column: str, known: Callable[[str], Any], what: str, unknown: Any = None) -> Any:
        """Return as `cell` does what a row cannot be placed without: a missing cell is noticed too."""
        text = row.cells[column]
        if (value := known(text)) is None:
            self.notice(what, row.place, text)
            return unknown
        return value

    def first_known(
        self, items: Iterable[tuple[Key, Any, str]], what: str, unknown: Any = "", severity: Severity = "warning"
    ) -> dict[Key, Any]:
        """Return key → its first value in file order that is not `unknown`; notice those that contradict it as `what`.

        Each item is a key, a value, and what to call it in a message.
        """
        first: dict[Key, tuple[Any, str]] = {}
        others: dict[Key, list[str]] = {}
        for key, value, shown in items:
            if key not in first or first[key][0] == unknown:
                first[key] = (value, shown)
            elif value not in (unknown, first[key][0]):
                others.setdefault(key, [first[key][1]]).append(shown)
        for key, values in others.items():
            self._noticed[severity, what].append(f"{named(key)}: {', '.join(dict.fromkeys(values))}")
        return {key: value for key, (value, _) in first.items()}

    def notice(self, what: str, place: str, text: str) -> None:
        """Add one more `place` that has this problem, and its cell."""
        self._noticed["warning", what].append(f"{place} {text!r}")

    @property
    def noticed(self) -> list[Finding]:
        """Return all that was noticed, in the order of its first place."""
        return [Finding(severity, what, tuple(places)) for (severity, what), places in self._noticed.items()]


def named(key: str | tuple[Any, ...]) -> str:
    """Return a participant, a visit or a knee as messages name it: "9000001 month 12 R"."""
    if isinstance(key, str):
        return key
    return " ".join(f"month {part}" if isinstance(part, int) else part for part in key)


def number(text: str) -> float | None:
    """Return the number of a coded cell, with its label or without, or None."""
    found = CODE.fullmatch(text)
    value = float(found[1]) if found else math.nan
    return value if math.isfinite(value) else None


def coded(meanings: Mapping[float, Any]) -> Callable[[str], Any]:
    """Return a parser of coded cells whose codes have these meanings."""
    return lambda text: meanings.get(value) if (value := number(text)) is not None else None


def site(text: str) -> str | None:
    """Return the letter of a clinical centre, or None."""
    found = SITE.fullmatch(text)
    return found[1].upper() if found else None
