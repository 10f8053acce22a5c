"""Read an OUT folder into tidy tables, and list everything in it that does not count, with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

from fmim_core.metric_names import INTERVALS, METRICS, Interval, Metric, split_key
from fmim_core.records import ON_FOLDS, ArmEntry, Record, ReferenceEntry, SelectionFile, StudyFile
from fmim_reports.reading.files import (
    Key,
    Problem,
    arms_by_split,
    key_of,
    planned_trials,
    read_by_arm,
    read_records,
    read_study,
    why_unplanned,
)
from fmim_reports.reading.queries import Queries, queries_of

T = TypeVar("T")


def once(make: Callable[[Results], T]) -> Callable[[Results], T]:
    """Make a function compute once for the results that it is given; they keep what it returned."""

    @wraps(make)
    def made(of: Results) -> T:
        if make not in of.computed:
            of.computed[make] = make(of)
        found: T = of.computed[make]
        return found

    return made


@dataclass(frozen=True)
class PlannedTrial:
    """One trial of the plan, with its record and the file of it if there is one."""

    arm: str
    configuration: Mapping[str, Any]
    stage: str
    replicate: int
    search_split: int
    variation: str
    file: str | None
    record: Record | None

    @classmethod
    def of(cls, key: Key, configuration: Mapping[str, Any], found: tuple[str, Record] | None) -> PlannedTrial:
        """Return the trial of a key of the plan, with the file of its record and this if there is one."""
        arm, _, stage, replicate, split, variation = key
        return cls(arm, configuration, stage, replicate, split, variation, *(found or (None, None)))

    @property
    def status(self) -> str:
        """Its status: completed, stopped, diverged, failed, or missing (no record)."""
        return self.record.status if self.record else "missing"

    @property
    def tested(self) -> bool:
        """True if it completed and measured the test set."""
        return self.stage not in ON_FOLDS and self.status == "completed"

    @property
    def reason(self) -> str:
        """Why it did not complete: its error, or else its warnings; blank if it did."""
        record = self.record
        if record is None:
            return "no record: not run yet, or not readable"
        if record.status == "completed":
            return ""
        if record.status == "stopped":
            return f"stopped by its search after epoch {len(record.history)}"
        error = [part for part in (record.error.kind, record.error.message) if part] if record.error else []
        return ": ".join(error) or "; ".join(record.warnings) or "no reason recorded"

    @property
    def name(self) -> str:
        return self.record.trial if self.record else f"{self.arm} {dict(self.configuration)} {self.unit}"

    @property
    def unit(self) -> str:
        split = f" of search split {self.search_split}" if self.search_split else ""
        varied = f" with {self.variation}" if self.variation else ""
        return f"{'fold' if self.stage in ON_FOLDS else 'seed'} {self.replicate}{split}{varied}"

    @cached_property
    def device_seconds(self) -> float:
        """Device-seconds of the trial itself, without attempts that failed before; NaN without a record."""
        return self.record.cost.device_seconds if self.record else math.nan

    @property
    def reused_from(self) -> str:
        """The place where the equal trial ran whose record it took; blank where it ran itself, or has not."""
        return self.record.reused_from.where if self.record and self.record.reused_from else ""

    @property
    def times(self) -> list[int]:
        """Times after baseline, in the study's interval, of which this trial has queries."""
        return sorted({time for name, time in self._measured if name in METRICS and time is not None})

    def metric(self, name: str, time: int | None = None) -> float:
        """Return the metric of the split this stage measures; not-a-number when the record lacks it."""
        return self._measured.get((name, time), math.nan)

    @cached_property
    def _measured(self) -> dict[tuple[str, int | None], float]:
        measured = (self.record.measured if self.record else None) or {}
        return {split_key(key): value for key, value in measured.items()}


@dataclass(frozen=True)
class Results:
    """An OUT folder as read: the study, what was selected, every planned trial, and what does not count.

    Each arm of `study` has the configurations that are known so far: listed beforehand, or proposed by its search.
    `trials` are those of the study's own search and its replicates, on which all results rest. `other_splits` are those
    of the same searches on other splits into folds, each with the replicate that ends it, whose queries `ends` has by
    split. `computed` has what functions marked `once` made of them.
    """

    out: Path
    study: StudyFile
    selection: SelectionFile
    trials: tuple[PlannedTrial, ...]
    other_splits: tuple[PlannedTrial, ...]
    superseded: tuple[PlannedTrial, ...]
    queries: Queries
    ends: Queries
    problems: tuple[Problem, ...]
    computed: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def arms(self) -> list[ArmEntry]:
        return self.study.arms

    @property
    def every_trial(self) -> list[PlannedTrial]:
        """All trials of the plan, those on other search splits too."""
        return [*self.trials, *self.other_splits]

    @property
    def references(self) -> list[ReferenceEntry]:
        """The references, which stand beside the arms though no training made them."""
        return self.study.references

    def arm(self, name: str) -> ArmEntry:
        """Return the arm of that name.

        Raises:
            KeyError: the study has no such arm.
        """
        return self._arms[name]

    @cached_property
    def _arms(self) -> dict[str, ArmEntry]:
        return {arm.name: arm for arm in self.arms}

    @property
    def metric(self) -> Metric:
        """The study's primary metric: it selects configurations, and arms are compared by it."""
        return METRICS[self.study.metric]

    @property
    def interval(self) -> Interval:
        """The unit of time after baseline by which the study's queries are grouped."""
        return INTERVALS[self.study.data.interval]

    @property
    def own_trainers(self) -> list[str]:
        """The trainers of the study's own, each with the arms that it trained and the files that declare the study."""
        files = f" ({', '.join(file.path for file in self.study.code.files)})" if self.study.code else ""
        labels = {arm.trainer: [one.label for one in self.arms if one.trainer == arm.trainer] for arm in self.arms}
        return [f"{trainer}{files} trained {', '.join(arms)}" for trainer, arms in labels.items() if trainer]

    @property
    def dated(self) -> bool:
        """True if the data set says of any test image when it was taken, so that there are times to group by."""
        return set(self.study.data.test.by_time) != {"unknown"}

    @property
    def comparisons(self) -> list[tuple[str, str]]:
        """The pairs of arms (a, b) that the study declared, before it ran, to be compared, as a − b; claims last."""
        return [*self.study.comparisons, *self.study.claims]

    @property
    def equivalence_margin(self) -> float:
        """Two arms are on par if their test metrics differ by less than this: the study declared it."""
        return self.study.equivalence_margin

    @property
    def searched(self) -> bool:
        """True if the study has a search stage; without one its configurations were given beforehand."""
        return bool(self.study.folds)

    @property
    def selects(self) -> bool:
        """True if an arm's search has more than one configuration to select from."""
        return self.searched and any(arm.n_s > 1 for arm in self.arms)

    @property
    def seeds_text(self) -> str:
        """The number of fresh seeds of an arm, `5` or `5 to 10`."""
        planned = {arm.replicates for arm in self.arms}
        return " to ".join(map(str, sorted({min(planned), max(planned)})))

    @property
    def stages(self) -> dict[str, str]:
        """The stages of the study's arms with what a replicate is in each."""
        varied = any(arm.variations for arm in self.arms)
        searched = {"search": "fold"} if self.searched else {}
        return searched | ({"variation": "fold"} if varied else {}) | {"replicate": "seed"}

    def planned(self, arm: ArmEntry) -> dict[str, int]:
        """Return how many trials an arm has in each of its stages, the most where its search may stop some."""
        folds = len(self.study.folds)
        counts = {"search": arm.n_s * folds, "variation": len(arm.variations) * folds, "replicate": arm.replicates}
        return {stage: counts[stage] for stage in self.stages if counts[stage]}

    @cached_property
    def _groups(self) -> dict[tuple[Any, ...], list[PlannedTrial]]:
        """The trials by arm and stage, and by configuration as well."""
        groups: dict[tuple[Any, ...], list[PlannedTrial]] = {}
        for trial in self.trials:
            groups.setdefault((trial.arm, trial.stage), []).append(trial)
            groups.setdefault((trial.arm, trial.stage, key_of(trial.configuration)), []).append(trial)
        return groups

    def of(self, arm: str, stage: str, configuration: Mapping[str, Any] | None = None) -> list[PlannedTrial]:
        """Return the planned trials of an arm and stage, of one configuration if given, in plan order."""
        return self._groups.get((arm, stage, *([] if configuration is None else [key_of(configuration)])), [])

    @property
    def tested(self) -> list[PlannedTrial]:
        """The replicates that completed, each of which measured the test set."""
        return [trial for trial in self.trials if trial.stage == "replicate" and trial.status == "completed"]

    def unproposed(self, arm: ArmEntry) -> int:
        """Return the number of search trials of the arm's configurations that its search has not proposed yet."""
        return (arm.n_s - len(arm.configurations)) * len(self.study.folds)

    def stops(self, arm: str) -> bool:
        """Say whether the arm's search has stopped trials, so that its completed ones are no sample of its space."""
        return any(trial.status == "stopped" for trial in self.of(arm, "search"))

    def selected(self, arm: str) -> Mapping[str, Any] | None:
        """Return the arm's selected configuration; None while none is fixed."""
        return self.selection.winner(arm)


def read_results(out: Path) -> Results:
    """Read OUT/study.json, selection.json and records/*; only what the plan names counts.

    Raises:
        ValueError: no readable study.json of a known schema in `out`.
    """
    problems: list[Problem] = []
    study = read_study(out)
    arms = arms_by_split(study, out, problems)
    study = study.model_copy(update={"arms": arms[0]})
    selection = read_by_arm(SelectionFile, out / "selection.json", problems, "no configuration counts as selected")
    records = read_records(out, study, problems)
    planned = planned_trials(study, arms, selection, records)
    trials = [PlannedTrial.of(key, configuration, records.pop(key, None)) for key, configuration in planned.items()]
    own, others = (tuple(trial for trial in trials if bool(trial.search_split) is other) for other in (False, True))
    superseded = []
    for key, (file, record) in records.items():
        why = why_unplanned(key, record.configuration, study, selection)
        if why.startswith("superseded"):
            superseded.append(PlannedTrial.of(key, record.configuration, (file, record)))
        problems.append(Problem(f"records/{file}", why))
    queries, ends = (
        queries_of(out, [t.record for t in some if t.record and t.tested], problems) for some in (own, others)
    )
    problems.sort(key=lambda problem: problem.where)
    return Results(out, study, selection, own, others, tuple(superseded), queries, ends, tuple(problems))
