"""How much of a plan is there already, before anything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fmim.options import Options
from fmim.plan import Plan
from fmim.runner.reuse.earlier import EarlierTrials, earlier_of, study_folders
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import find_bank
from fmim_core.data.source import Source
from fmim_core.trial.spec import TrialSpec

UNITS = {"search": "search trials", "replicate": "replicates", "reference": "reference trials"}


@dataclass(frozen=True)
class ThereAlready:
    """Trials that a record is there for, of those that there are.

    Args:
        known, planned: by stage. Of replicates the most there can be, since their winners are not known.
        by_folder: of the known ones, by the study's folder.
    """

    known: Mapping[str, int]
    planned: Mapping[str, int]
    by_folder: Mapping[str, int]

    @property
    def trials(self) -> int:
        """The most trials that need no training."""
        return sum(self.known.values())

    @property
    def sentence(self) -> str:
        """The whole in a sentence."""
        parts = [
            f"{'up to ' if stage == 'replicate' else ''}{self.known[stage]} of {self.planned[stage]} {unit}"
            for stage, unit in UNITS.items()
            if self.planned[stage]
        ]
        folders = ", ".join(f"{folder} ({number})" for folder, number in self.by_folder.items())
        return (
            f"there already: {', '.join(parts)}, from {folders}; they are reused when their turn comes (--no-reuse: "
            "trained anew)"
        )


def there_already(plan: Plan, bank: Bank, earlier: EarlierTrials, done: Collection[str] = ()) -> ThereAlready:
    """What of a plan has records; trials in `done` are left out. Configurations yet to be proposed are not known."""
    found: dict[str, list[tuple[TrialSpec, Path]]] = {stage: [] for stage in UNITS}
    for spec in plan.possible(bank, lambda arm, search_split: ()) if earlier.records else ():
        if spec.id not in done and (records := earlier.of(spec)):
            found[spec.stage].append((spec, records[0]))
    found["replicate"] = list(_of_one_winner(found["replicate"]))
    planned = {
        "search": plan.search_trials,
        "replicate": plan.replicate_trials,
        "reference": plan.reference_trials,
    }
    folders = Counter(earlier.name(path) for records in found.values() for _, path in records)
    return ThereAlready(
        {stage: len(records) for stage, records in found.items()}, planned, dict(sorted(folders.items()))
    )


def there_before(plan: Plan, source: Source, options: Options) -> str:
    """What of a plan has records, in a sentence, without decoding its images; blank where no study could have any."""
    others = options.reuse and any(study_folders(options.studies_folder))
    if not others:
        return ""
    bank = find_bank(source, plan.preset.image_size, options.banks_folder)
    if bank is None:
        return "the images are not decoded yet: what other studies have trained on them shows when they are"
    known = there_already(plan, bank, earlier_of(options, plan, bank))
    return known.sentence if known.trials else "there already: none of these trials"


def _of_one_winner(found: Iterable[tuple[TrialSpec, Path]]) -> Iterator[tuple[TrialSpec, Path]]:
    """Of each arm the replicates of the configuration that has most of them: only one can win."""
    by_winner: dict[str, dict[int, list[tuple[TrialSpec, Path]]]] = {}
    for spec, path in found:
        if not spec.search_split:
            by_winner.setdefault(spec.arm, {}).setdefault(spec.number, []).append((spec, path))
    for of_arm in by_winner.values():
        yield from max(of_arm.values(), key=len)
