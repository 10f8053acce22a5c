"""The OAI's tables: where each participant was enrolled, how old at a visit, how each knee was graded."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
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
OUTCOMES = [f"v99e{knee}k{what}" for knee in "rl" for what in ("blrp", "vspr", "date", "rpcf")]

# Names of columns in the edition of the NIMH Data Archive → in the OAI's own.
ARCHIVE = {"src_subject_id": "id", "site": "v00site", "sex": "p02sex", "ageyears": "v00age"}
ARCHIVE_READINGS = {"src_subject_id": "id"}
ARCHIVE_OUTCOMES = {"src_subject_id": "id"} | {name.removeprefix("v99e"): name for name in OUTCOMES}

Visit = tuple[str, int]
"""ID, months."""
Knee = tuple[str, int, str]
"""ID, months, side."""


@dataclass(frozen=True)
class Metadata:
    """The tables' content, by ID, visit or knee.

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
        """Return years at a visit: the clinical table's or, without one, baseline age + months/12; else blank."""
        age, baseline = self.ages.get((subject, months)), self.baseline_ages.get(subject)
        if age is None and baseline is not None:
            age = baseline + months / 12
        return "" if age is None else f"{age:g}"

    def tkr(self, subject: str, months: int, side: str) -> str:
        """Tell whether the knee was replaced by that visit: yes, no, or blank where the outcomes do not say."""
        last = self.replaced.get((subject, side))
        visit = next(int(number) for number, known in VISITS.items() if known == months)
        return "" if last is None else "yes" if visit > last else "no"


def read_metadata(root: Path, tables: Mapping[str, str]) -> Metadata:
    """Read the tables that `files.find_files` found in `root`.

    Raises:
        ValueError: a table cannot be read or lacks a column that it must have.
    """
    reader = RowReader(root)
    enrolled = reader.rows(tables["enrollees"], ("v00site",), ("p02sex", "v00age"), ARCHIVE)
    what = "sites other than A to E, taken as unknown"
    sites = [(row.subject, found := reader.cell(row, "v00site", site, what), found) for row in enrolled]
    what = "sexes other than 1 (male) and 2 (female), taken as unknown"
    sexes = [(row.subject, found := reader.cell(row, "p02sex", _sex, what), found) for row in enrolled]
    at_baseline = [(row.subject, _age(reader, row, "v00age")) for row in enrolled]
    ages = reader.first_known(
        _ages(reader, tables), "visits with two ages: the first in file order is taken", unknown=None
    )
    at_baseline += [(subject, age) for (subject, months), age in ages.items() if months == 0]
    # A grade is a knee's first known one, whichever reading project it is of. The paper's authors take the first row
    # too, even where its grade is blank and another project's is not.
    what = "knees that readings grade differently: the first in file order is taken"
    grades = reader.first_known(_grades(reader, tables), what)
    return Metadata(
        # The site decides between training and test, so that no rule may choose one.
        sites=reader.first_known(sites, "participants enrolled at more than one site", severity="error"),
        sexes=reader.first_known(sexes, "participants of two sexes: the first in file order is taken"),
        ages=ages,
        baseline_ages={subject: age for subject, age in at_baseline if age is not None},
        clinical=frozenset(months for visit, months in VISITS.items() if f"clinical {visit}" in tables),
        read=frozenset(m for visit, m in VISITS.items() if "readings" in tables or f"readings {visit}" in tables),
        grades=grades,
        replaced=reader.first_known(
            _replaced(reader, tables), "knees replaced at two times: the first in file order is taken", unknown=None
        ),
        files=reader.files,
        versions=reader.versions,
        noticed=reader.noticed,
    )


def _sex(text: str) -> str | None:
    return SEXES.get(text.lower()) or coded(SEX_CODES)(text)


def _ages(reader: RowReader, tables: Mapping[str, str]) -> Iterator[tuple[Visit, float | None, str]]:
    for visit, months in VISITS.items():
        if path := tables.get(f"clinical {visit}"):
            for row in reader.rows(path, (), (f"v{visit}age",)):
                age = _age(reader, row, f"v{visit}age")
                yield (row.subject, months), age, f"{age} years"


def _age(reader: RowReader, row: TableRow, column: str) -> float | None:
    def years(text: str) -> float | None:
        return value if (value := number(text)) is not None and 0 <= value <= MAX_AGE else None

    return reader.cell(row, column, years, f"ages that are not a number from 0 to {MAX_AGE}, taken as unknown", None)


def _grades(reader: RowReader, tables: Mapping[str, str]) -> Iterator[tuple[Knee, str, str]]:
    readings = [
        (row, months, f"v{visit}xrkl")
        for visit, months in VISITS.items()
        if (path := tables.get(f"readings {visit}"))
        for row in reader.rows(path, ("side", f"v{visit}xrkl"), ("readprj",))
    ]
    if path := tables.get("readings"):
        what = f"readings of visits other than {', '.join(f'V{visit}' for visit in VISITS)}, left out"
        rows = reader.rows(path, ("side", "visit", "xrkl"), ("readprj",), ARCHIVE_READINGS)
        readings += [(row, reader.key(row, "visit", _months_of_visit, what), "xrkl") for row in rows]
    for row, months, column in readings:
        side = reader.key(row, "side", coded(SIDES), "readings of a side other than 1 (right) and 2 (left), left out")
        grade = reader.cell(row, column, coded(GRADES), "grades other than 0 to 4, taken as unknown")
        if side and months is not None:
            project = row.cells.get("readprj", "")
            yield (row.subject, months, side), grade, f"{grade} (project {project})" if project else grade


def _months_of_visit(text: str) -> int | None:
    found = VISIT.fullmatch(text)
    return VISITS.get(found[1]) if found else None


def _replaced(reader: RowReader, tables: Mapping[str, str]) -> Iterator[tuple[tuple[str, str], float | None, str]]:
    """Yield of each knee in the outcomes the number of the last visit before its replacement, total or partial.

    V99E{R,L}KBLRP says that it was replaced at baseline; ...KVSPR is the last visit before a later replacement;
    ...KDATE its date, which alone does not tell a visit; ...KRPCF what became of its adjudication.
    """
    if "outcomes" in tables:
        for row in reader.rows(tables["outcomes"], (), OUTCOMES, ARCHIVE_OUTCOMES):
            for side in "RL":
                last = _last_visit(reader, row, f"v99e{side.lower()}k")
                yield (row.subject, side), last, f"{last}"


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
