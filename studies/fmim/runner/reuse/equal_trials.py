"""Equal trials: those that other studies have trained, and those of a plan that need no training because of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from fmim.plan.plan import BankOfTrials, Plan, UnknownImages
from fmim.runner.folder.locks import ASIDE
from fmim_core.data.bank.building import find_bank
from fmim_core.data.source import Source
from fmim_core.records import (
    OF_WINNER,
    THIS_STUDY,
    Stage,
    StudyFile,
    TrialCounts,
    read_records,
    study_path,
    trials_with_result,
)
from fmim_core.trial.spec import RESULTS_VERSION, TrialSpec


@dataclass(frozen=True)
class EarlierTrials:
    """The records that say of themselves that they have a result, by fingerprint.

    studies: the folder of all studies, by which a study's folder is named.
    reuse: whether equal trials share a record at all, those of one study too.
    """

    studies: Path
    records: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    reuse: bool = True

    def may_stand_for(self, spec: TrialSpec) -> bool:
        """Say whether the record of an equal trial may be this one's, too; never where its search may stop it.

        When a search stops a trial depends on the other trials of its arm, so that a whole training is no answer.
        """
        return self.reuse and not spec.rungs

    def of(self, spec: TrialSpec) -> Sequence[Path]:
        """Return the records of other studies that may stand for this trial."""
        return self.records.get(spec.fingerprint, ()) if self.may_stand_for(spec) else ()

    def name(self, record: Path) -> str:
        """Return the folder of the study that a record lies in."""
        return record.parents[1].relative_to(self.studies).as_posix()


NOTHING = EarlierTrials(Path(), reuse=False)
"""For a study that trains all of its trials."""


def earlier_trials(
    studies: Path, data_fingerprint: str, seed: int, but: Path | None = None, reuse: bool = True
) -> EarlierTrials:
    """Return what the studies in a folder, and in folders within it, have results of, on these images with this seed.

    A folder that `--fresh` has moved aside was left on purpose, and one whose study.json cannot be read, or is of other
    results, says nothing: neither counts.

    Args:
        studies: absolute.
        data_fingerprint: of the decoded images.
        but: a study's folder that does not count.
        reuse: whether there is anything to be found.
    """
    if not reuse:
        return EarlierTrials(studies, reuse=False)
    found: dict[str, list[Path]] = {}
    for out in study_folders(studies):
        if out != but and _may_serve(out, data_fingerprint, seed):
            for key, path in trials_with_result(out):
                found.setdefault(key, []).append(path)
    return EarlierTrials(studies, found)


def study_folders(studies: Path) -> Iterator[Path]:
    """Yield folders with a study.json, sorted; one of several studies, as of a whole paper, may lie beside them."""
    for path in sorted([*studies.glob("*/study.json"), *studies.glob("*/*/study.json")]):
        if not any(ASIDE in part for part in path.relative_to(studies).parts):
            yield path.parent


def _may_serve(out: Path, data_fingerprint: str, seed: int) -> bool:
    try:
        study = StudyFile.read(study_path(out))
    except (ValueError, OSError):  # not of this program, of another version, or damaged: whoever runs it is told
        return False
    return (study.results_version, study.data.fingerprint, study.seed) == (RESULTS_VERSION, data_fingerprint, seed)


Taken = tuple[TrialSpec, str]
"""A trial that reuses the record of an equal one, and the folder of the study that runs the equal one."""


@dataclass(frozen=True)
class Reused:
    """The number of trials of a plan that take the record of an equal one.

    Args:
        reused: by stage. Of replicates the most there can be, since their winners are not known.
        left: trials of the plan that are not over; the most there can be where a search stops trials, as `exact` says.
        by_folder: of the reused ones, by the study's folder.
        others_known: whether trials of other studies are known; not while the images are not decoded.
    """

    reused: Mapping[Stage, int]
    left: int
    by_folder: Mapping[str, int]
    exact: bool = True
    others_known: bool = True

    @property
    def trials(self) -> int:
        """The most trials that need no training."""
        return sum(self.reused.values())

    @property
    def to_train(self) -> int:
        """The fewest trials that are left to run."""
        return self.left - self.trials

    @property
    def sentences(self) -> list[str]:
        """The whole in words; nothing where no trial is reused."""
        unknown = "The images are not decoded yet, so results of other studies are not counted."
        sentences = [] if self.others_known else [unknown]
        if not self.trials:
            return sentences
        others = ", ".join(f"{number} from {name}" for name, number in self.by_folder.items() if name != THIS_STUDY)
        most, least = ("Up to ", "at least ") if any(self.reused[stage] for stage in OF_WINNER) else ("", "")
        reused = (
            f"{most}{self.trials} of {self.left} trials repeat another one and reuse its result"
            f"{others and f' ({others})'}; {least if self.exact else 'about '}{self.to_train} will run."
        )
        return [reused, *sentences]


class EqualTrials:
    """The trials of a plan that are equal to others: to those of other studies, or to some before them in the plan.

    Configurations yet to be proposed are not known.
    """

    def __init__(self, plan: Plan, bank: BankOfTrials, earlier: EarlierTrials) -> None:
        self._plan, self._earlier = plan, earlier
        specs = plan.possible(bank, lambda arm, search_split: ()) if earlier.reuse else []
        self._trials = [(spec, spec.fingerprint) for spec in specs if earlier.may_stand_for(spec)]

    def taken(self, over: Collection[str] = (), winners: Mapping[str, int] | None = None) -> list[Taken]:
        """Return those that take the record of an equal trial, but for the trials that are `over`.

        Args:
            winners: the number of each arm's winner, of those that are known; variations and replicates of others do
                not count. If nothing is said, the most there can be after those that are `over`.
        """
        seen, found = {fingerprint for spec, fingerprint in self._trials if spec.id in over}, list[Taken]()
        won = {spec.arm: spec.number for spec, _ in self._trials if _of_study(spec) and spec.id in over}
        for spec, fingerprint in self._trials:
            if winners is None:
                loses = _of_study(spec) and won.get(spec.arm, spec.number) != spec.number
            else:
                loses = (winners.get(spec.arm), 0) != (spec.number, spec.search_split)
            if spec.id in over or (spec.of_winner and loses):
                continue
            others = [self._earlier.name(path) for path in self._earlier.of(spec)[:1]]
            if folder := others[0] if others else THIS_STUDY if fingerprint in seen else "":
                found.append((spec, folder))
            seen.add(fingerprint)
        return found if winners is not None else _of_one_winner(found)

    def by_arm(self, winners: Mapping[str, int]) -> dict[str, TrialCounts]:
        """Count those of each arm or reference in the whole study, as far as the winners are known."""
        known = {arm.name: 0 for arm in self._plan.arms if arm.listed and arm.budget == 1} | dict(winners)
        found: dict[str, Counter[str]] = {}
        for spec, _ in self.taken(winners=known):
            found.setdefault(spec.arm, Counter())["replicate" if spec.fold is None else spec.stage] += 1
        return {
            arm: TrialCounts(search=one["search"], variation=one["variation"], replicate=one["replicate"])
            for arm, one in found.items()
        }

    def reused(self, over: Collection[str] = (), others_known: bool = True) -> Reused:
        """Count those that will take the record of an equal trial, but for the trials that are `over`."""
        taken, plan = self.taken(over), self._plan
        stages, folders = Counter(spec.stage for spec, _ in taken), Counter(folder for _, folder in taken)
        reused = {stage: stages[stage] for stage in get_args(Stage)}
        left = max(len(taken), plan.trials - len(over))
        return Reused(reused, left, dict(sorted(folders.items())), plan.exact, others_known)


def reused_before(plan: Plan, source: Source, banks: Path, studies: Path, out: Path, reuse: bool) -> Reused:
    """Count the trials of a plan that take the record of an equal trial, without decoding its images.

    Args:
        banks, studies, out: the folders of decoded images, of all studies, and of this one, whose trials are over.
    """
    bank = find_bank(source, plan.preset.image_size, banks)
    if bank is not None:
        earlier = earlier_trials(studies, bank.fingerprint, plan.seed, out, reuse)
        return EqualTrials(plan, bank, earlier).reused(_over(plan, bank, out))
    alone, others = EarlierTrials(studies, reuse=reuse), reuse and any(study_folders(studies))
    return EqualTrials(plan, UnknownImages(source.description), alone).reused(others_known=not others)


def _of_study(spec: TrialSpec) -> bool:
    """Return whether a trial is of the winner of the study's own search split."""
    return spec.of_winner and not spec.search_split


def _over(plan: Plan, bank: BankOfTrials, out: Path) -> set[str]:
    """Return the trials of a plan that have a final record in the study's folder."""
    records = [one for one in read_records(out, lambda path, damaged: None) if one.final]
    sampled = {arm.name for arm in plan.arms if arm.listed is None}
    planned = {spec.fingerprint for spec in plan.possible(bank, lambda arm, split: ())} if records else ()
    return {one.trial for one in records if one.fingerprint in planned or one.arm in sampled}


def _of_one_winner(found: Iterable[Taken]) -> list[Taken]:
    """Leave of each arm the variations and replicates of the configuration that has most: only one can win."""
    others, by_winner = list[Taken](), dict[str, dict[int, list[Taken]]]()
    for spec, folder in found:
        if not spec.of_winner:
            others.append((spec, folder))
        elif not spec.search_split:
            by_winner.setdefault(spec.arm, {}).setdefault(spec.number, []).append((spec, folder))
    return others + [one for of_arm in by_winner.values() for one in max(of_arm.values(), key=len)]
