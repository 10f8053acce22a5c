"""The OAI's tables in any of their editions: each participant's site, the age at a visit, the grade of a knee."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fmim_core.data.tables.cells import MAX_AGE, NUMBER, SEXES
from fmim_core.data.tables.findings import Finding, Severity
from fmim_core.data.tables.reading import read_table

VISITS = {"00": 0, "01": 12, "03": 24, "05": 36, "06": 48, "08": 72, "10": 96}
"""The OAI's number of a visit with radiographs → months after baseline."""

# ".: Missing Form/Incomplete Workbook", ".A: Not Expected", ".M", and what SAS has as no number.
MISSING_CODE = re.compile(r"nan|(\.[A-Z_]?\s*(:.*)?)?", re.IGNORECASE | re.ASCII | re.DOTALL)
CODE = re.compile(rf"({NUMBER.pattern})\s*(:.*)?", re.ASCII | re.DOTALL)  # "2", "2.0", "2: Left"
SITE = re.compile(r"([A-E])\s*(:.*)?", re.IGNORECASE | re.DOTALL)
ID = re.compile(r"0*([1-9]\d*)(\.0*)?", re.ASCII)  # "9000001", and "9000001.0" as a spreadsheet or SAS has it

SIDE_CODES = {1.0: "R", 2.0: "L"}
SEX_CODES = {1.0: "M", 2.0: "F"}
GRADE_CODES = {float(grade): str(grade) for grade in range(5)}
YES = 1.0
FAILED = 0.0  # "Replacement adjudicated, failed to confirm"
BEFORE_BASELINE, NEVER = -1.0, math.inf
VISIT = re.compile(r"V(\d\d)", re.IGNORECASE | re.ASCII)
OUTCOMES = [f"v99e{knee}k{what}" for knee in "rl" for what in ("blrp", "vspr", "date", "rpcf")]

# Names of columns in the edition of the NIMH Data Archive → in the OAI's own.
ARCHIVE = {"src_subject_id": "id", "site": "v00site", "sex": "p02sex", "ageyears": "v00age"} | {
    name.removeprefix("v99e"): name for name in OUTCOMES
}

Visit = tuple[str, int]
"""ID, months."""
Knee = tuple[str, int, str]
"""ID, months, side."""
Key = TypeVar("Key", str, tuple[str, int], tuple[str, int, str], tuple[str, str])


@dataclass(frozen=True)
class TableRow:
    """A table's row: where it stands, whose it is (the ID's digits), and its cells by column."""

    place: str
    subject: str
    cells: Mapping[str, str]


class Metadata:
    """The OAI's tables in a folder, by ID, visit or knee; each kind of thing wrong with their rows is noticed once.

    files: each table's name → SHA-256. versions: what its column VERSION says, where it has one.
    sites, sexes: "A" to "E", "M" or "F", blank where unknown, of everyone enrolled.
    ages: in years, None where unknown, of each visit with a row in its clinical table.
    clinical, read: months of the visits whose clinical table, or whose readings, are there.
    grades: Kellgren-Lawrence "0" to "4", blank where unknown, of each knee that was read.

    Args:
        tables: those that `find_files` found in `root`.

    Raises:
        ValueError: a table cannot be read or lacks a column that it must have.
    """

    def __init__(self, root: Path, tables: Mapping[str, str]) -> None:
        self._root, self._tables = root, tables
        self._noticed: dict[tuple[Severity, str], list[str]] = defaultdict(list)
        self.files: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        enrolled = self._read(tables["enrollees"], ("v00site",), ("p02sex", "v00age"))
        what = "sites other than A to E, set to unknown"
        sites = [(row.subject, found := self._cell(row, "v00site", _site, what), found) for row in enrolled]
        what = "sexes other than 1 (male) and 2 (female), set to unknown"
        sexes = [(row.subject, found := self._cell(row, "p02sex", _sex, what), found) for row in enrolled]
        at_baseline = [(row.subject, self._age(row, "v00age")) for row in enrolled]
        what = "visits with two ages: the first in file order is used"
        self.ages: dict[Visit, float | None] = self._first_known(self._all_ages(), what, unknown=None)
        at_baseline += [(subject, age) for (subject, months), age in self.ages.items() if months == 0]
        self._baseline_ages = {subject: age for subject, age in at_baseline if age is not None}
        # A grade is a knee's first known one, whichever reading project it is of. The paper's authors take the first
        # row too, even where its grade is blank and another project's is not.
        what = "knees with several grades: the first in file order is used"
        self.grades: dict[Knee, str] = self._first_known(self._all_grades(), what)
        # The site decides between training and test, so that no rule may choose one.
        what = "participants enrolled at more than one site"
        self.sites: dict[str, str] = self._first_known(sites, what, severity="error")
        what = "participants of two sexes: the first in file order is used"
        self.sexes: dict[str, str] = self._first_known(sexes, what)
        what = "knees replaced at two times: the first in file order is used"
        self._replaced: dict[tuple[str, str], float | None] = self._first_known(self._outcomes(), what, unknown=None)
        self.clinical = {months for visit, months in VISITS.items() if f"clinical {visit}" in tables}
        self.read = {months for visit, months in VISITS.items() if {"readings", f"readings {visit}"} & tables.keys()}

    @property
    def noticed(self) -> list[Finding]:
        """Return all that was noticed, in the order of its first place."""
        return [Finding(severity, what, tuple(places)) for (severity, what), places in self._noticed.items()]

    def age(self, subject: str, months: int) -> str:
        """Return years at a visit: the clinical table's or, without one, baseline age + months/12; else blank."""
        age, baseline = self.ages.get((subject, months)), self._baseline_ages.get(subject)
        if age is None and baseline is not None:
            age = baseline + months / 12
        return "" if age is None else f"{age:g}"

    def tkr(self, subject: str, months: int, side: str) -> str:
        """Tell whether the knee was replaced by that visit: yes, no, or blank where the outcomes do not say."""
        last = self._replaced.get((subject, side))
        visit = next(int(number) for number, known in VISITS.items() if known == months)
        return "" if last is None else "yes" if visit > last else "no"

    def _all_ages(self) -> Iterator[tuple[Visit, float | None, str]]:
        for visit, months in VISITS.items():
            if path := self._tables.get(f"clinical {visit}"):
                for row in self._read(path, (), (f"v{visit}age",)):
                    age = self._age(row, f"v{visit}age")
                    yield (row.subject, months), age, f"{age} years"

    def _age(self, row: TableRow, column: str) -> float | None:
        def years(text: str) -> float | None:
            return value if (value := number(text)) is not None and 0 <= value <= MAX_AGE else None

        return self._cell(row, column, years, f"ages that are not a number from 0 to {MAX_AGE}, set to unknown", None)

    def _all_grades(self) -> Iterator[tuple[Knee, str, str]]:
        readings = [
            (row, months, f"v{visit}xrkl")
            for visit, months in VISITS.items()
            if (path := self._tables.get(f"readings {visit}"))
            for row in self._read(path, ("side", f"v{visit}xrkl"), ("readprj",))
        ]
        if path := self._tables.get("readings"):
            what = f"readings of visits other than {', '.join(f'V{visit}' for visit in VISITS)}, left out"
            rows = self._read(path, ("side", "visit", "xrkl"), ("readprj",))
            readings += [(row, self._key(row, "visit", _months_of_visit, what), "xrkl") for row in rows]
        for row, months, column in readings:
            side = self._key(
                row, "side", _coded(SIDE_CODES), "readings of a side other than 1 (right) and 2 (left), left out"
            )
            grade = self._cell(row, column, _coded(GRADE_CODES), "grades other than 0 to 4, set to unknown")
            if side and months is not None:
                project = row.cells.get("readprj", "")
                yield (row.subject, months, side), grade, f"{grade} (project {project})" if project else grade

    def _outcomes(self) -> Iterator[tuple[tuple[str, str], float | None, str]]:
        """Yield of each knee in the outcomes the number of the last visit before its replacement, total or partial.

        V99E{R,L}KBLRP says that it was replaced at baseline; ...KVSPR is the last visit before a later replacement;
        ...KDATE its date, which alone does not tell a visit; ...KRPCF what became of its adjudication. The number is
        `BEFORE_BASELINE` or `NEVER` where it is none, and None where it is unknown.
        """
        if path := self._tables.get("outcomes"):
            for row in self._read(path, (), OUTCOMES):
                for side in "RL":
                    last = self._last_visit(row, f"v99e{side.lower()}k")
                    yield (row.subject, side), last, f"{last}"

    def _last_visit(self, row: TableRow, knee: str) -> float | None:
        what = "outcomes that are not a code, set to missing"
        if self._cell(row, f"{knee}blrp", number, what) == YES:
            return BEFORE_BASELINE
        if self._cell(row, f"{knee}rpcf", number, what) == FAILED:
            return NEVER
        if (last := self._cell(row, f"{knee}vspr", _number_of_visit, what, None)) is not None:
            return last
        if not MISSING_CODE.fullmatch(date := row.cells.get(f"{knee}date", "")):
            what = "replaced knees without their last visit before it (V99E.KVSPR), set to unknown"
            self._notice(what, row.place, date)
            return None
        return NEVER if {f"{knee}vspr", f"{knee}date"} & row.cells.keys() else None

    def _read(self, path: str, required: Sequence[str], optional: Sequence[str]) -> list[TableRow]:
        """Return the rows with an ID, without the dictionary that one edition has as its second line."""
        table = read_table(self._root / path, ("id", *required), (*optional, "version"), ARCHIVE, fallback="latin-1")
        self.files[path] = table.sha256
        rows = []
        records: Any = table.cells.to_dict("records")
        for n, (place, cells) in enumerate(zip(table.places, records, strict=True)):
            if found := ID.fullmatch(cells["id"]):
                rows.append(TableRow(f"{path} {place}", found[1], cells))
            elif n == 0 and not any(of.fullmatch(text) for text in cells.values() for of in (MISSING_CODE, CODE, SITE)):
                self._noticed["note", "second lines that describe the columns, skipped"].append(f"{path} {place}")
            else:
                self._notice("rows without an ID of digits, left out", f"{path} {place}", cells["id"])
        if told := sorted({row.cells["version"] for row in rows if row.cells.get("version")}):
            self.versions[path] = ", ".join(told)
        return rows

    def _cell(self, row: TableRow, column: str, known: Callable[[str], Any], what: str, unknown: Any = "") -> Any:
        """Return the cell through `known`, whose None marks a mistake: noticed as `what`, and `unknown` in its place.

        A cell marked as missing, or no such column, is `unknown` and nothing to notice.
        """
        text = row.cells.get(column, "")
        return unknown if MISSING_CODE.fullmatch(text) else self._key(row, column, known, what, unknown)

    def _key(self, row: TableRow, column: str, known: Callable[[str], Any], what: str, unknown: Any = None) -> Any:
        """Return as `_cell` does what a row cannot be placed without: a missing cell is noticed too."""
        text = row.cells[column]
        if (value := known(text)) is None:
            self._notice(what, row.place, text)
            return unknown
        return value

    def _first_known(
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

    def _notice(self, what: str, place: str, text: str) -> None:
        """Add one more `place` that has this problem, and its cell."""
        self._noticed["warning", what].append(f"{place} {text!r}")


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


def _coded(meanings: Mapping[float, Any]) -> Callable[[str], Any]:
    """Return a parser of coded cells whose codes have these meanings."""
    return lambda text: meanings.get(value) if (value := number(text)) is not None else None


def _site(text: str) -> str | None:
    """Return the letter of a clinical centre, or None."""
    found = SITE.fullmatch(text)
    return found[1].upper() if found else None


def _sex(text: str) -> str | None:
    return SEXES.get(text.lower()) or _coded(SEX_CODES)(text)


def _months_of_visit(text: str) -> int | None:
    found = VISIT.fullmatch(text)
    return VISITS.get(found[1]) if found else None


def _number_of_visit(text: str) -> float | None:
    found = VISIT.fullmatch(text)
    return float(found[1]) if found else number(text)
