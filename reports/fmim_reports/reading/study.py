"""Reads study.json and the other files of an OUT folder that say what was planned and selected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fmim_core.metric_names import METRICS
from fmim_core.records import ArmEntry, ProposalsFile, ReferenceEntry, SelectionFile, StudyFile, study_path

ByArm = TypeVar("ByArm", SelectionFile, ProposalsFile)
Entry = TypeVar("Entry", ArmEntry, ReferenceEntry)
_SHOWN = {"label": "?", "loss": "?", "group": "?", "search": ""}


@dataclass(frozen=True)
class Problem:
    """A file, or a planned trial, that does not count, and why."""

    where: str
    why: str


def read_study(out: Path, problems: list[Problem]) -> tuple[StudyFile, dict[int, list[ArmEntry]]]:
    """OUT/study.json, and its arms by search split, with the configurations of proposals.json where they are proposed.

    The arms of the study itself are those of its own search split, 0.

    Raises:
        ValueError: no readable study.json of a known schema in `out`.
    """
    study = _declared(out)
    proposals = read_by_arm(ProposalsFile, out / "proposals.json", problems, "no proposed configuration counts")

    def with_proposed(arm: ArmEntry, search_split: int) -> ArmEntry:
        proposed = proposals.by_split.get(search_split, {}).get(arm.name, [])
        found = {"configurations": [proposal.configuration for proposal in proposed]}
        return arm if arm.configurations else arm.model_copy(update=found)

    arms = {split: [with_proposed(arm, split) for arm in study.arms] for split in range(study.search_splits)}
    return study.model_copy(update={"arms": arms[0]}), arms


def read_by_arm(kind: type[ByArm], path: Path, problems: list[Problem], otherwise: str) -> ByArm:
    """A document by arm; without any arm if there is no such file, and if it cannot be read a problem says so."""
    if not path.is_file():
        return kind()
    try:
        return kind.read(path, "the file")
    except ValueError as error:
        problems.append(Problem(path.name, f"{otherwise}: {error}"))
        return kind()


def _declared(out: Path) -> StudyFile:
    path = study_path(out)
    if not path.is_file():
        raise ValueError(f"{out} holds no study.json: give the folder that a study wrote (its --out), or run one")
    study = StudyFile.read(path)
    if study.metric not in METRICS:
        raise ValueError(f"{path}: metric {study.metric!r} is unknown; there are {', '.join(METRICS)}")
    shown = {"arms": [_shown(arm) for arm in study.arms], "references": [_shown(one) for one in study.references]}
    return study.model_copy(update=shown)


def _shown(entry: Entry) -> Entry:
    """The same with names that Matplotlib shows in a legend: it leaves out the empty, and those that begin with _."""
    given = dict(entry)
    return entry.model_copy(update={n: given[n].lstrip("_") or blank for n, blank in _SHOWN.items() if n in given})
