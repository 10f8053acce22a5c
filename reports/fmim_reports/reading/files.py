"""Read the files of an OUT folder, what was planned and selected and the records; say what does not count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fmim_core.metric_names import METRICS
from fmim_core.records import (
    QUERIES_ENDING,
    ArmEntry,
    ProposalsFile,
    Record,
    ReferenceEntry,
    SelectionFile,
    StudyFile,
    study_path,
)
from fmim_reports.reading.plan import Key, Records, key_of

ByArm = TypeVar("ByArm", SelectionFile, ProposalsFile)
Entry = TypeVar("Entry", ArmEntry, ReferenceEntry)
_SHOWN = {"label": "?", "loss": "?", "group": "?", "search": ""}


@dataclass(frozen=True)
class Problem:
    """A file, or a planned trial, that does not count, and why."""

    where: str
    why: str


def read_study(out: Path) -> StudyFile:
    """Return OUT/study.json.

    Raises:
        ValueError: no readable study.json of a known schema in `out`.
    """
    path = study_path(out)
    if not path.is_file():
        raise ValueError(f"{out} holds no study.json: give the folder that a study wrote (its --out), or run one")
    study = StudyFile.read(path)
    if study.metric not in METRICS:
        raise ValueError(f"{path}: metric {study.metric!r} is unknown; there are {', '.join(METRICS)}")
    shown = {"arms": [_shown(arm) for arm in study.arms], "references": [_shown(one) for one in study.references]}
    return study.model_copy(update=shown)


def _shown(entry: Entry) -> Entry:
    """Give an entry names that Matplotlib shows in a legend: it leaves out the empty, and those that begin with _."""
    given = dict(entry)
    return entry.model_copy(update={n: given[n].lstrip("_") or blank for n, blank in _SHOWN.items() if n in given})


def arms_by_split(study: StudyFile, out: Path, problems: list[Problem]) -> dict[int, list[ArmEntry]]:
    """Return the arms by search split, with the configurations of proposals.json where they are proposed.

    The arms of the study itself are those of its own search split, 0.
    """
    proposals = read_by_arm(ProposalsFile, out / "proposals.json", problems, "no proposed configuration counts")

    def with_proposed(arm: ArmEntry, split: int) -> ArmEntry:
        proposed = proposals.by_split.get(split, {}).get(arm.name, [])
        found = {"configurations": [proposal.configuration for proposal in proposed]}
        return arm if arm.configurations else arm.model_copy(update=found)

    return {split: [with_proposed(arm, split) for arm in study.arms] for split in range(study.search_splits)}


def read_by_arm(kind: type[ByArm], path: Path, problems: list[Problem], otherwise: str) -> ByArm:
    """Return a document by arm; without any arm if there is no such file, or it cannot be read, which is a problem."""
    if not path.is_file():
        return kind()
    try:
        return kind.read(path, "the file")
    except ValueError as error:
        problems.append(Problem(path.name, f"{otherwise}: {error}"))
        return kind()


def read_records(out: Path, study: StudyFile, problems: list[Problem]) -> Records:
    """Return the well-formed records of this study by what they are of; others become problems."""
    found: Records = {}
    folder = out / "records"
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    beside = {name.removesuffix(".json") + QUERIES_ENDING for name in names}  # they are read with their records
    for path in (folder / name for name in names if name not in beside):
        try:
            record = _record(path, study)
        except ValueError as error:
            problems.append(Problem(f"records/{path.name}", str(error)))
            continue
        key: Key = (record.arm, key_of(record.configuration), record.stage, record.replicate, record.search_split)
        # The runner names a record after its trial; of two that say they are one trial, that one is the original.
        both = sorted([*([found[key]] if key in found else []), (path.name, record)], key=lambda one: _copied(*one))
        found[key] = both[0]
        problems += [Problem(f"records/{name}", f"duplicate of {both[0][0]}: not counted") for name, _ in both[1:]]
    return found


def _copied(name: str, record: Record) -> bool:
    return name != f"{record.trial}.json"


def _record(path: Path, study: StudyFile) -> Record:
    """Read a record; raises ValueError with the reason why it does not count."""
    if path.name.endswith(QUERIES_ENDING):
        raise ValueError("queries without their record: the trial has not ended, or the record was taken away")
    if path.suffix != ".json" or not path.is_file():
        raise ValueError("unknown file: records end in .json")
    record = Record.read(path, "the record")
    if record.study != study.study:
        raise ValueError(f"of another study: {record.study!r}, not {study.study!r}")
    return record
