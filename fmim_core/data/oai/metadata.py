"""What the OAI's tables say: where each participant was enrolled, how old at a visit, how each knee was graded."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmim_core.data.oai.files import VISITS
from fmim_core.data.oai.rows import MISSING, RowReader, TableRow, coded, number, site
from fmim_core.data.tables.cells import MAX_AGE, SEXES
from fmim_core.data.tables.findings import Finding

SIDES = {1.0: "R", 2.0: "L"}
SEX_CODES = {1.0: "M", 2.0: "F"}
GRADES = {float(grade): str(grade) for grade in range(5)}
YES = 1.0
FAILED = 0.0  # "Replacement adjudicated, failed to confirm"
BEFORE_BASELINE, NEVER = -1.0, math.inf
VISIT = re.compile(r"V(\d\d)", re.IGNORECASE | re.ASCII)

# Names of columns in the edition of the NIMH Data Archive → in the OAI's own.
ARCHIVE = {"src_subject_id": "id", "site": "v00site", "sex": "p02sex", "ageyears": "v00age"}
ARCHIVE_READINGS = {"src_subject_id": "id"}
ARCHIVE_OUTCOMES = {"src_subject_id": "id"} | {
    f"{knee}k{what}": f"v99e{knee}k{what}" for knee in "rl" for what in ("blrp", "vspr", "date", "rpcf")
}

Visit = tuple[str, int]
"""ID, months."""
Knee = tuple[str, int, str]
"""ID, months, side."""


@dataclass(frozen=True)
class Metadata:
    """What the tables say, by ID, visit or knee.

    Args:
        sites: "A" to "E", blank where unknown, of everyone enrolled.
        sexes: "M", "F", blank where unknown, of everyone enrolled.
        ages: in years, None where unknown, of each visit with a row in its clinical table.
        baseline_ages: in years, where known.
        clinical: months of the visits whose clinical table is there.
        read: months of the visits whose readings are there.
        grades: Kellgren-Lawrence "0" to "4", blank where unknown, of each knee that was read.
        replaced: number of the last visit before the knee's replacement, or `BEFORE_BASELINE`, `NEVER`, None where
            unknown, by ID and side, of everyone in the outcomes.
        files: name → SHA-256.
        versions: name → what its column VERSION says, where it has one.
        noticed: what is wrong with rows of the tables.
    """

    sites: Mapping[str, str]
    sexes: Mapping[str, str]
    ages: Mapping[Visit, float | None]
    baseline_ages: Mapping[str, float]
    clinical: frozenset[int]
    read: frozenset[int]
    grades: Mapping[Knee, str]
    replaced: Mapping[tuple[str, str], float | None]
    files: Mapping[str, str]
    versions: Mapping[str, str]
    noticed: Sequence[Finding]

    def age(self, subject: str, months: int) -> str:
        """Years at a visit: the clinical table's or, where it has none, baseline age + months/12; else blank."""
        age, baseline = self.ages.get((subject, months)), self.baseline_ages.get(subject)
        if age is None and baseline is not None:
            age = baseline + months / 12
        return "" if age is None else f"{age:g}"

    def tkr(self, subject: str, months: int, side: str) -> str:
        """Whether the knee was replaced by that visit: yes, no, or blank where the outcomes do not say."""
        last = self.replaced.get((subject, side))
        visit = next(int(number) for number, known in VISITS.items() if known == months)
        return "" if last is None else "yes" if visit > last else "no"


def read_metadata(root: Path, tables: Mapping[str, str]) -> Metadata:
    """The tables that `files.find_files` found in `root`.

    Raises:
        ValueError: a table cannot be read or lacks a column that it must have.
    """
    reader = RowReader(root)
    enrolled = reader.rows(tables["enrollees"], ("v00site",), ("p02sex", "v00age"), ARCHIVE)
    ages = _ages(reader, tables)
    at_baseline = [(row.subject, _age(reader, row, "v00age")) for row in enrolled]
    at_baseline += [(subject, age) for (subject, months), age in ages.items() if months == 0]
    return Metadata(
        sites=_sites(reader, enrolled),
        sexes=_sexes(reader, enrolled),
        ages=ages,
        baseline_ages={subject: age for subject, age in at_baseline if age is not None},
        clinical=frozenset(months for visit, months in VISITS.items() if f"clinical {visit}" in tables),
        read=frozenset(m for visit, m in VISITS.items() if "readings" in tables or f"readings {visit}" in tables),
        grades=_grades(reader, tables),
        replaced=_replaced(reader, tables),
        files=reader.files,
        versions=reader.versions,
        noticed=reader.noticed,
    )


def _sites(reader: RowReader, enrolled: Sequence[TableRow]) -> dict[str, str]:
    what = "sites other than A to E, taken as unknown"
    items = [(row.subject, found := reader.cell(row, "v00site", site, what), found) for row in enrolled]
    # The site decides between training and test, so that no rule may choose one.
    return reader.first_known(items, "participants enrolled at more than one site", severity="error")


def _sexes(reader: RowReader, enrolled: Sequence[TableRow]) -> dict[str, str]:
    def sex(text: str) -> str | None:
        return SEXES.get(text.lower()) or coded(SEX_CODES)(text)

    what = "sexes other than 1 (male) and 2 (female), taken as unknown"
    items = [(row.subject, found := reader.cell(row, "p02sex", sex, what), found) for row in enrolled]
    return reader.first_known(items, "participants of two sexes: the first in file order is taken")


def _ages(reader: RowReader, tables: Mapping[str, str]) -> dict[Visit, float | None]:
    items: list[tuple[Visit, float | None, str]] = []
    for visit, months in VISITS.items():
        if path := tables.get(f"clinical {visit}"):
            for row in reader.rows(path, (), (f"v{visit}age",)):
                age = _age(reader, row, f"v{visit}age")
                items.append(((row.subject, months), age, f"{age} years"))
    return reader.first_known(items, "visits with two ages: the first in file order is taken", None)


def _age(reader: RowReader, row: TableRow, column: str) -> float | None:
    def age(text: str) -> float | None:
        years = number(text)
        return years if years is not None and 0 <= years <= MAX_AGE else None

    return reader.cell(row, column, age, f"ages that are not a number from 0 to {MAX_AGE}, taken as unknown", None)


def _grades(reader: RowReader, tables: Mapping[str, str]) -> dict[Knee, str]:
    """Each knee's first known grade in file order, whichever reading project it is of.

    The paper's authors take the first row too, even where its grade is blank and another project's is not.
    """
    items: list[tuple[Knee, str, str]] = []

    def add(row: TableRow, months: int | None, column: str) -> None:
        side = reader.key(row, "side", coded(SIDES), "readings of a side other than 1 (right) and 2 (left), left out")
        grade = reader.cell(row, column, coded(GRADES), "grades other than 0 to 4, taken as unknown")
        if side and months is not None:
            project = row.cells.get("readprj", "")
            items.append(((row.subject, months, side), grade, f"{grade} (project {project})" if project else grade))

    for visit, months in VISITS.items():
        if path := tables.get(f"readings {visit}"):
            for row in reader.rows(path, ("side", f"v{visit}xrkl"), ("readprj",)):
                add(row, months, f"v{visit}xrkl")
    if path := tables.get("readings"):
        for row in reader.rows(path, ("side", "visit", "xrkl"), ("readprj",), ARCHIVE_READINGS):
            known = ", ".join(f"V{visit}" for visit in VISITS)
            add(row, reader.key(row, "visit", _months, f"readings of visits other than {known}, left out"), "xrkl")
    return reader.first_known(items, "knees that readings grade differently: the first in file order is taken")


def _months(text: str) -> int | None:
    found = VISIT.fullmatch(text)
    return VISITS.get(found[1]) if found else None


def _replaced(reader: RowReader, tables: Mapping[str, str]) -> dict[tuple[str, str], float | None]:
    """Of each knee in the outcomes, the number of the last visit before its replacement, total or partial.

    V99E{R,L}KBLRP says that it was replaced at baseline; ...KVSPR is the last visit before a later replacement;
    ...KDATE its date, which alone does not tell a visit; ...KRPCF what became of its adjudication.
    """
    if "outcomes" not in tables:
        return {}
    columns = [f"v99e{knee}k{what}" for knee in "rl" for what in ("blrp", "vspr", "date", "rpcf")]
    rows = reader.rows(tables["outcomes"], (), columns, ARCHIVE_OUTCOMES)
    knees = [(row, side, f"v99e{side.lower()}k") for row in rows for side in "RL"]
    items = [((row.subject, side), last := _last_visit(reader, row, knee), f"{last}") for row, side, knee in knees]
    return reader.first_known(items, "knees replaced at two times: the first in file order is taken", None)


def _last_visit(reader: RowReader, row: TableRow, knee: str) -> float | None:
    def visit(text: str) -> float | None:
        found = VISIT.fullmatch(text)
        return float(found[1]) if found else number(text)

    what = "outcomes that are not a code, taken as missing"
    if reader.cell(row, f"{knee}blrp", number, what) == YES:
        return BEFORE_BASELINE
    if reader.cell(row, f"{knee}rpcf", number, what) == FAILED:
        return NEVER
    if (last := reader.cell(row, f"{knee}vspr", visit, what, None)) is not None:
        return last
    if not MISSING.fullmatch(date := row.cells.get(f"{knee}date", "")):
        what = "replaced knees whose last visit before (V99E.KVSPR) is not told, taken as unknown"
        reader.notice(what, row.place, date)
        return None
    return NEVER if {f"{knee}vspr", f"{knee}date"} & row.cells.keys() else None
