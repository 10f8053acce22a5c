"""The progress of a study: counted from what is over and what runs, for the process that runs it and for others."""

from __future__ import annotations

import heapq
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from fmim.runner.search.selection import Outcome, better
from fmim_core.metric_names import METRICS
from fmim_core.records import (
    EpochRow,
    ProgressFile,
    Record,
    RunningTrial,
    Stage,
    StudyFile,
    TrialCounts,
    TrialError,
    TrialLengths,
    now,
)


class Durations:
    """The time that trials take by their length: as in their arm and stage if any are over, else in the arm, or in all.

    A length is in the units of a plan, comparable within it.
    """

    def __init__(self) -> None:
        self._trials: dict[tuple[str, ...], list[tuple[float, float, float]]] = {}  # length, start-up, seconds after it

    def __contains__(self, group: tuple[str, ...]) -> bool:
        return group in self._trials

    def add(self, arm: str, stage: str, length: float, startup: float, seconds: float) -> None:
        """Take in a trial, or a part of one, of `seconds` after its start-up."""
        for group in ((arm, stage), (arm,), ()):
            self._trials.setdefault(group, []).append((length, startup, seconds))

    def of(self, arm: str, stage: str, length: float) -> float:
        """Return the seconds of such a trial: start-up + length × seconds a unit; the mean where no length is known."""
        nearest = next(self._trials[group] for group in ((arm, stage), (arm,), ()) if group in self._trials)
        lengths, startups, seconds = map(sum, zip(*nearest, strict=True))
        return startups / len(nearest) + (length * seconds / lengths if lengths else seconds / len(nearest))


def shared_out(waiting: Iterable[float], busy: Iterable[float], slots: int) -> float:
    """Return the seconds until all trials are over, the longest first, on slots of which some are busy for a while.

    The dispatcher's order takes a few percent more, since some trials wait for others.
    """
    ends = heapq.nlargest(slots, [*busy, *[0.0] * slots])
    heapq.heapify(ends)
    for seconds in sorted(waiting, reverse=True):
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)


if TYPE_CHECKING:  # `fmim status` needs no torch
    from fmim_core.trial.spec import TrialSpec

DECIDED = 5  # configurations that a search has stopped or not, before anything follows from their share
STAGES: tuple[Stage, ...] = ("search", "variation", "replicate")  # a reference's trials are its replicates


@dataclass
class ArmProgress:
    """The progress of an arm, or of a reference: its trials by status, and its best validation value of a fold so far.

    search, replicates: the most trials there can be as far as is known: where the first fold screens, a configuration
    that does not survive it has that one trial. The replicate that ends another search split is there only if its
    winner is not the study's, so it counts when it is over.
    """

    name: str
    label: str
    replicates: int
    search: int = 0
    variations: int = 0
    folds: int = 0
    screens: bool = False
    reference: bool = False
    statuses: Counter[str] = field(default_factory=Counter)
    best: float | None = None
    over: Counter[Stage] = field(default_factory=Counter)  # trials that are over, a reference's as replicates
    first_folds: list[float] = field(default_factory=list)  # share of its epochs that each trial of fold 0 has trained
    reused: Counter[Stage] = field(default_factory=Counter)  # trials that have taken the record of an equal one

    def __post_init__(self) -> None:
        self.configurations = self.search // self.folds if self.folds else 0

    @property
    def total(self) -> int:
        """Its trials."""
        return self.search + self.variations + self.replicates

    @property
    def done(self) -> int:
        """Those that are over."""
        return self.statuses.total()

    @property
    def bad(self) -> int:
        """Those that came to no end."""
        return self.done - self.statuses["completed"] - self.statuses["stopped"]

    @property
    def predictable(self) -> bool:
        """Return whether it is known how long its search is; where it stops trials, once it has decided on a few."""
        return not self.screens or len(self.first_folds) >= min(DECIDED, self.configurations)

    def count(self, outcome: Outcome, stage: Stage, share: float) -> None:
        """Take in a trial of a stage that is over, after this share of its epochs."""
        self.statuses[outcome.status] += 1
        self.replicates += outcome.search_split > 0 and outcome.fold is None  # of the winner of another split
        self.over[stage] += 1
        self.reused[stage] += outcome.reused
        if self.screens and stage == "search" and outcome.fold == 0:
            self.first_folds.append(share)
            self.search -= 0 if outcome.status == "completed" else self.folds - 1

    def waiting_in_search(self, running: int) -> int:
        """Count trials of its search that have not begun; of one that stops trials, as many as their epochs make."""
        left = self.search - self.over["search"] - running
        if not self.first_folds:
            return left
        undecided = self.configurations - len(self.first_folds)  # of each of them all folds count so far
        surviving = sum(share == 1 for share in self.first_folds) / len(self.first_folds)
        expected = sum(self.first_folds) / len(self.first_folds) + surviving * (self.folds - 1)
        return max(0, math.ceil(left - undecided * (self.folds - expected)))


class StudyProgress:
    """The progress of a study; it can watch its trials, and be asked meanwhile by another thread.

    Args:
        lengths: of trials, by arm.
        slots: trials at once.
        reused: by arm or reference, as far as is known, how many trials take the record of an equal one in all.
        warn: is told of a bad trial, at once.
    """

    def __init__(
        self,
        study: StudyFile,
        lengths: Mapping[str, TrialLengths],
        slots: int,
        reused: Mapping[str, TrialCounts] | None = None,
        warn: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self.metric, self.slots, self.lengths, self.reused = METRICS[study.metric], slots, lengths, dict(reused or {})
        self._epochs, self._models, self._warn = int(study.train["epochs"]), study.models_per_replicate, warn
        folds = len(study.folds)  # none where nothing is searched
        searched = folds * study.search_splits
        of_arms = [
            ArmProgress(
                one.name,
                one.label,
                one.replicates,
                one.n_s * searched,
                len(one.variations) * folds,
                folds,
                one.searcher_facts.screens,
            )
            for one in study.arms
        ]
        references = [ArmProgress(one.name, one.label, one.replicates, reference=True) for one in study.references]
        self.arms = {one.name: one for one in of_arms + references}
        self.running: dict[str, RunningTrial] = {}
        self._durations, self._lock = Durations(), threading.Lock()

    @property
    def done(self) -> int:
        """Trials that are over."""
        return sum(arm.done for arm in self.arms.values())

    @property
    def total(self) -> int:
        """All trials, as far as is known."""
        return sum(arm.total for arm in self.arms.values())

    @property
    def reused_so_far(self) -> int:
        """Trials that have taken the record of an equal one."""
        return sum(arm.reused.total() for arm in self.arms.values())

    @property
    def to_reuse(self) -> int:
        """Trials that will, as far as is known."""
        return sum(self._to_reuse(arm, stage) for arm in self.arms.values() for stage in STAGES)

    def started(self, spec: TrialSpec) -> None:
        """Take note that a trial begins; where it is tried again, anew."""
        epochs = spec.epochs * (self._models if spec.stage == "replicate" else 1)
        running = RunningTrial(trial=spec.id, arm=spec.arm, stage=spec.stage, started_at=now(), epochs=epochs)
        with self._lock:
            self.running[spec.id] = running

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """Take note of an epoch that a trial has run, which is perhaps its best one."""
        with self._lock:
            one = self.running[spec.id]
            best = better(one.best, row.validation_mAP, METRICS["mAP"])
            over = one.epoch // spec.epochs * spec.epochs + row.epoch  # each model of several counts from 1
            changes = {"epoch": over, "epoch_s": row.seconds, "best": best}
            self.running[spec.id] = one.model_copy(update=changes)

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """Count a trial; a bad one is named at once."""
        with self._lock:
            self.running.pop(spec.id, None)
            self.count(Outcome.of(record))
        if record.status not in ("completed", "stopped"):
            error = record.error or TrialError(kind="unknown")
            message = ((error.message or "").splitlines() or [""])[0][:200]
            self._warn(f"{spec.id} {record.status}: {error.kind}: {message}")

    def count(self, outcome: Outcome) -> None:
        """Take in a trial that is over; one of another plan does not count."""
        arm = self.arms.get(outcome.arm)
        if arm is None:
            return
        stage = outcome.stage if outcome.stage in STAGES else "replicate"
        share = 1.0 if outcome.status == "completed" else min(1.0, outcome.epochs / self._epochs)
        arm.count(outcome, stage, share)
        if share and outcome.status in ("completed", "stopped"):
            startup, length = outcome.startup_s, share * self._length(arm.name, stage)
            self._durations.add(arm.name, stage, length, startup, max(0.0, outcome.wall_s - startup))
        arm.best = better(arm.best, (outcome.validation or {}).get(self.metric.name), self.metric)

    def document(self, command: str | None) -> ProgressFile:
        """Return it as progress.json has it; `command` goes on with the study."""
        with self._lock:
            running = list(self.running.values())
        return ProgressFile(
            at=now(), command=command, running=running, lengths=dict(self.lengths), reused=dict(self.reused)
        )

    def seconds_left(self, now: datetime) -> float | None:
        """Return about how long the rest takes; None while there is nothing to go by.

        That is all trials shared out over the slots, or the longest chain of trials that wait for each other (an arm's
        search, then a replicate; references behind every search), whichever is longer.
        """
        with self._lock:
            durations = deepcopy(self._durations)
            for one in self.running.values():
                if one.epoch > 1 and one.epoch_s is not None and (one.arm, one.stage) not in durations:
                    durations.add(one.arm, one.stage, self._length(one.arm, one.stage) / one.epochs, 0.0, one.epoch_s)
            if () not in durations or not all(arm.predictable for arm in self.arms.values()):
                return None
            busy, waiting, searches, chains = list[float](), list[float](), 0.0, [0.0]
            for arm in sorted(self.arms.values(), key=lambda arm: arm.reference):
                running = [one for one in self.running.values() if one.arm == arm.name]
                searching = [self._left(one, durations, now) for one in running if one.stage == "search"]
                testing = [self._left(one, durations, now) for one in running if one.stage != "search"]
                search = arm.waiting_in_search(len(searching)) - self._to_reuse(arm, "search")
                now_of = Counter(one.stage if one.stage in STAGES else "replicate" for one in running)
                planned: dict[Stage, int] = {"variation": arm.variations, "replicate": arm.replicates}
                varied, replicates = (
                    number - arm.over[stage] - now_of[stage] - self._to_reuse(arm, stage)
                    for stage, number in planned.items()
                )
                search_s, varied_s, replicate_s = (
                    durations.of(arm.name, stage, self._length(arm.name, stage)) for stage in STAGES
                )
                busy += searching + testing
                waiting += [search_s] * search + [varied_s] * varied + [replicate_s] * replicates
                chain = search_s if search > 0 else max(searching, default=0.0)
                behind = searches if arm.reference else chain
                last = max(varied_s if varied > 0 else 0.0, replicate_s if replicates > 0 else 0.0)
                chains += [chain, behind + last if last else 0.0]
                searches = max(searches, chain)
            return max(shared_out(waiting, busy, self.slots), *chains)

    def _left(self, one: RunningTrial, durations: Durations, now: datetime) -> float:
        """Return the seconds that a running trial has left: by the clock, but no less than epochs to begin take."""
        whole = durations.of(one.arm, one.stage, self._length(one.arm, one.stage))
        by_clock = whole - (now - datetime.fromisoformat(one.started_at)).total_seconds()
        to_begin = max(0, one.epochs - one.epoch - 1) / one.epochs if one.epochs else 0.0
        return max(0.0, by_clock, whole * to_begin)

    def _to_reuse(self, arm: ArmProgress, stage: Stage) -> int:
        known = self.reused.get(arm.name)
        return max(0, getattr(known, stage) - arm.reused[stage]) if known else 0

    def _length(self, arm: str, stage: Stage) -> float:
        """Return the length of such a trial; 0 of what trains nothing, or is not known."""
        known = self.lengths.get(arm)
        return getattr(known, stage) if known else 0.0
