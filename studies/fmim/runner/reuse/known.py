"""How many trials of a plan need no training, since an equal one has run or will."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fmim.plan import BankOfTrials, Plan
from fmim.runner.reuse.earlier import EarlierTrials, earlier_trials, study_folders
from fmim_core.data.bank.building import find_bank
from fmim_core.data.source import Source, SourceDescription
from fmim_core.records import THIS_STUDY, Stage, TrialCounts
from fmim_core.trial.spec import TrialSpec

UNITS = {"search": "search trials", "replicate": "replicates", "reference": "reference trials"}


@dataclass(frozen=True)
class Undecoded:
    """Stands for images that are not decoded yet: trials on them are equal to others of the same plan alone."""

    description: SourceDescription
    path: Path = Path()
    fingerprint: str = ""


@dataclass(frozen=True)
class Reused:
    """Trials of a plan that take the record of an equal one.

    Args:
        reused, planned: by stage. Of replicates the most there can be, since their winners are not known.
        by_folder: of the reused ones, by the study's folder.
        others_known: whether trials of other studies are known; not while the images are not decoded.
    """

    reused: Mapping[str, int]
    planned: Mapping[str, int]
    by_folder: Mapping[str, int]
    others_known: bool = True

    @property
    def trials(self) -> int:
        """The most trials that need no training."""
        return sum(self.reused.values())

    @property
    def to_train(self) -> int:
        """The fewest trials that are left to train."""
        return sum(self.planned.values()) - self.trials

    @property
    def sentences(self) -> list[str]:
        """The whole in words; nothing where no trial is reused."""
        unknown = "the images are not decoded yet: what other studies have trained on them shows when they are"
        return ([self._sentence] if self.trials else []) + ([] if self.others_known else [unknown])

    @property
    def _sentence(self) -> str:
        parts = [
            f"{'up to ' if stage == 'replicate' else ''}{self.reused[stage]} of {self.planned[stage]} {unit}"
            for stage, unit in UNITS.items()
            if self.planned[stage]
        ]
        folders = ", ".join(f"{folder} ({number})" for folder, number in self.by_folder.items())
        or_more = " or more" if self.reused["replicate"] else ""
        return (
            f"reused: {', '.join(parts)}, which take the records of equal trials of {folders} when their turn comes; "
            f"{self.to_train}{or_more} are trained (--no-reuse: all)"
        )


@dataclass(frozen=True)
class _Planned:
    """A trial that may take the record of an equal one; `folder` is that of a study which has one, or blank."""

    trial: str
    arm: str
    number: int
    stage: Stage
    search_split: int
    fingerprint: str
    folder: str


class EqualTrials:
    """Which trials of a plan are equal to others: to those of other studies, or to some before them in the plan.

    Configurations yet to be proposed are not known.
    """

    def __init__(self, plan: Plan, bank: BankOfTrials, earlier: EarlierTrials) -> None:
        self._plan = plan
        self._trials = [
            _Planned(
                trial=spec.id,
                arm=spec.arm,
                number=spec.number,
                stage=spec.stage,
                search_split=spec.search_split,
                fingerprint=spec.fingerprint,
                folder=next(map(earlier.name, earlier.of(spec)), ""),
            )
            for spec in _candidates(plan, bank, earlier)
            if earlier.may_stand_for(spec)
        ]

    def reused(self, over: Collection[str] = (), others_known: bool = True) -> Reused:
        """What takes the record of an equal trial, but for the trials that are `over`."""
        done = {one.fingerprint for one in self._trials if one.trial in over}
        left = [one for one in self._trials if one.trial not in over]
        found: dict[str, list[tuple[_Planned, str]]] = {stage: [] for stage in UNITS}
        for one, folder in _with_folders(left, done):
            if folder:
                found[one.stage].append((one, folder))
        found["replicate"] = _of_one_winner(found["replicate"])
        folders = Counter(folder for records in found.values() for _, folder in records)
        return Reused(
            reused={stage: len(records) for stage, records in found.items()},
            planned={
                "search": self._plan.search_trials,
                "replicate": self._plan.replicate_trials,
                "reference": self._plan.reference_trials,
            },
            by_folder=dict(sorted(folders.items())),
            others_known=others_known,
        )

    def by_arm(self, winners: Mapping[str, int]) -> dict[str, TrialCounts]:
        """How many trials of each arm or reference take the record of an equal one in the whole study.

        Args:
            winners: the number of each arm's winner, of those that are known; replicates of others do not count.
        """
        known = {arm.name: 0 for arm in self._plan.arms if arm.listed and arm.budget == 1} | dict(winners)
        runs = [
            one
            for one in self._trials
            if one.stage != "replicate" or (known.get(one.arm), 0) == (one.number, one.search_split)
        ]
        found = Counter((one.arm, one.stage == "search") for one, folder in _with_folders(runs, set()) if folder)
        return {
            arm: TrialCounts(search=found[arm, True], replicate=found[arm, False])
            for arm in dict.fromkeys(one.arm for one in runs)
        }


def reused_before(plan: Plan, source: Source, banks: Path, studies: Path, reuse: bool) -> Reused:
    """What of a plan takes the record of an equal trial, known without decoding its images."""
    bank = find_bank(source, plan.preset.image_size, banks)
    if bank is not None:
        return EqualTrials(plan, bank, earlier_trials(studies, bank.fingerprint, plan.seed, reuse=reuse)).reused()
    alone = EarlierTrials(studies, reuse=reuse)
    others = reuse and any(study_folders(studies))
    return EqualTrials(plan, Undecoded(source.description), alone).reused(others_known=not others)


def _candidates(plan: Plan, bank: BankOfTrials, earlier: EarlierTrials) -> list[TrialSpec]:
    """Trials that may be equal to others: where no other study has any, those of trainings that several arms have.

    A plan may have very many trials, and a fingerprint of each takes a while.
    """
    if not earlier.reuse:
        return []
    if earlier.records:
        return plan.possible(bank, lambda arm, search_split: ())
    listed = [(arm, number, one) for arm in plan.arms for number, one in enumerate(arm.listed or ())]
    arms_of = Counter(plan.train_config(arm, one) for arm, _, one in listed)
    shared = [entry for entry in listed if arms_of[plan.train_config(entry[0], entry[2])] > 1]
    splits = range(plan.search_splits)
    return [spec for split in splits for entry in shared for spec in plan.of_configuration(*entry, bank, split)]


def _with_folders(trials: Iterable[_Planned], done: set[str]) -> Iterable[tuple[_Planned, str]]:
    """Each trial with the folder of an equal one; blank for the first of its kind in the plan, which is trained."""
    seen = set(done)
    for one in trials:
        yield one, one.folder or (THIS_STUDY if one.fingerprint in seen else "")
        seen.add(one.fingerprint)


def _of_one_winner(found: Iterable[tuple[_Planned, str]]) -> list[tuple[_Planned, str]]:
    """Of each arm the replicates of the configuration that has most of them: only one can win."""
    by_winner: dict[str, dict[int, list[tuple[_Planned, str]]]] = {}
    for one, folder in found:
        if not one.search_split:
            by_winner.setdefault(one.arm, {}).setdefault(one.number, []).append((one, folder))
    return [pair for of_arm in by_winner.values() for pair in max(of_arm.values(), key=len)]
