"""Several studies read to be compared, and which of their arms are alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from fmim_reports.reading.results import Results, read_results
from fmim_reports.reading.summary import ArmSummary, arm_summaries, completed


@dataclass(frozen=True)
class ComparedStudy:
    """A study under the letter by which tables call it: A is the one that was named first."""

    key: str
    folder: Path
    results: Results

    @property
    def arms(self) -> Sequence[ArmSummary]:
        """What is said of each arm."""
        return arm_summaries(self.results)

    def trained_as(self, arm: str) -> Mapping[str, Any] | None:
        """The whole training configuration of the arm's replicates; None before the first has completed."""
        trials = self.results.of(arm, "replicate")
        return next((t.record.config for t in trials if t.record and t.status == "completed"), None)


@dataclass(frozen=True)
class StudyArm:
    """An arm of one of the studies."""

    study: ComparedStudy
    arm: ArmSummary

    @property
    def tested(self) -> Mapping[Any, float]:
        """Replicate → the study's primary metric on the test set, of those that completed."""
        return self.arm.test.values

    def of_replicates(self, metric: str) -> Mapping[int, float]:
        """Replicate → another number of the test set."""
        return completed(self.study.results.of(self.arm.name, "replicate"), metric)

    def seeds_agree(self, other: StudyArm) -> bool:
        """Whether the replicates that both have were trained with the same seeds, and there are such."""
        ours, theirs = self._seeds, other._seeds
        both = ours.keys() & theirs.keys()
        return bool(both) and all(ours[replicate] == theirs[replicate] for replicate in both)

    @property
    def _seeds(self) -> dict[int, int]:
        trials = self.study.results.of(self.arm.name, "replicate")
        return {trial.replicate: trial.record.seed for trial in trials if trial.record}


@dataclass
class ArmGroup:
    """Arms of different studies that stand side by side: of one name, or trained as one another."""

    members: list[StudyArm] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What the first of them calls it."""
        return self.members[0].arm.label

    def of(self, key: str) -> StudyArm | None:
        """The arm of the study of that letter."""
        return next((one for one in self.members if one.study.key == key), None)


def read_studies(folders: Sequence[Path]) -> tuple[ComparedStudy, ...]:
    """The studies in these folders, as far as they go.

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
    """A to Z, AA to ZZ, …"""
    return ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))


def arm_groups(studies: Sequence[ComparedStudy]) -> list[ArmGroup]:
    """The arms of all studies, those that are alike together; the order is that of the studies.

    Arms of one name are alike. One whose name no other study has stands beside one that was trained by the same
    whole configuration, if there is any.
    """
    groups: list[ArmGroup] = []
    for study in studies:
        of_name = {member.arm.name: group for group in groups for member in reversed(group.members)}
        joined = {arm.name: of_name[arm.name] for arm in study.arms if arm.name in of_name}
        for arm in study.arms:
            group = joined.get(arm.name) or _trained_alike(study, arm, groups, joined.values())
            if group is None:
                groups.append(group := ArmGroup())
            joined[arm.name] = group
            group.members.append(StudyArm(study, arm))
    return groups


def _trained_alike(study: ComparedStudy, arm: ArmSummary, groups: Sequence[ArmGroup], taken: Any) -> ArmGroup | None:
    """The first group with an arm of the same training configuration in which this study has no arm yet."""
    config = study.trained_as(arm.name)
    if config is None:
        return None
    free = [group for group in groups if not any(group is other for other in taken)]
    return next((g for g in free if any(m.study.trained_as(m.arm.name) == config for m in g.members)), None)
