"""Several studies read to be compared, and which of their arms are alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from fmim_reports.parts.comparisons.difference import TestedArm
from fmim_reports.reading.results import Results, read_results
from fmim_reports.reading.summary import arm_summaries


@dataclass(frozen=True)
class ComparedStudy:
    """A study under the letter by which tables call it: A is the one that was named first."""

    key: str
    folder: Path
    results: Results


@dataclass(frozen=True)
class StudyArm(TestedArm):
    """An arm of one of the studies."""

    study: ComparedStudy

    @property
    def trained_as(self) -> Mapping[str, Any] | None:
        """Return the whole training configuration of its replicates; None before the first has completed."""
        trials = self.results.of(self.arm.name, "replicate")
        return next((t.record.config for t in trials if t.record and t.status == "completed"), None)

    def seeds_agree(self, other: StudyArm) -> bool:
        """Say if the replicates that both have were trained with the same seeds, and there are such."""
        ours, theirs = self._seeds, other._seeds
        both = ours.keys() & theirs.keys()
        return bool(both) and all(ours[replicate] == theirs[replicate] for replicate in both)

    @property
    def _seeds(self) -> dict[int, int]:
        trials = self.results.of(self.arm.name, "replicate")
        return {trial.replicate: trial.record.seed for trial in trials if trial.record}


@dataclass(frozen=True)
class ArmGroup:
    """Arms of different studies that stand side by side: of one name, or trained as one another."""

    members: list[StudyArm]

    @property
    def label(self) -> str:
        """Return what the first of them calls it."""
        return self.members[0].arm.label

    def of(self, key: str) -> StudyArm | None:
        """Return the arm of the study of that letter."""
        return next((one for one in self.members if one.study.key == key), None)


def read_studies(folders: Sequence[Path]) -> tuple[ComparedStudy, ...]:
    """Read the studies in these folders, as far as they go.

    Raises:
        ValueError: fewer than two, one folder twice, or a folder without a readable study.json.
    """
    if len(folders) < 2:
        raise ValueError("a comparison needs at least two studies: give two or more folders, e.g. runs/a runs/b")
    places = [folder.resolve() for folder in folders]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise ValueError(f"{folders[number]} is given twice: give each study once")
    return tuple(
        ComparedStudy(key, folder, read_results(folder)) for key, folder in zip(_letters(), folders, strict=False)
    )


def _letters() -> Iterator[str]:
    """Yield A to Z, AA to ZZ, …"""
    return ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))


def arm_groups(studies: Sequence[ComparedStudy]) -> list[ArmGroup]:
    """Return the arms of all studies, those that are alike together; the order is that of the studies.

    Arms of one name are alike. One whose name no other study has stands beside one that was trained by the same
    whole configuration, if there is any.
    """
    groups: list[ArmGroup] = []
    for study in studies:
        arms = [StudyArm(study.results, arm, study) for arm in arm_summaries(study.results)]
        of_name = {member.arm.name: group for group in groups for member in reversed(group.members)}
        taken = [of_name[one.arm.name] for one in arms if one.arm.name in of_name]
        for one in arms:
            group = of_name.get(one.arm.name) or _trained_alike(one, groups, taken)
            if group is None:
                groups.append(group := ArmGroup([]))
            taken.append(group)
            group.members.append(one)
    return groups


def _trained_alike(one: StudyArm, groups: Sequence[ArmGroup], taken: Sequence[ArmGroup]) -> ArmGroup | None:
    """Return the first group with an arm of the same training configuration in which this study has no arm yet."""
    config = one.trained_as
    if config is None:
        return None
    free = [group for group in groups if not any(group is other for other in taken)]
    return next((group for group in free if any(member.trained_as == config for member in group.members)), None)
