"""A dispatcher on invented metrics, epoch by epoch: everything but the training, with a clock or without."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fmim.declare import Arm, Study
from fmim.plan import Plan
from fmim.runner.backends.backend import TrialSource
from fmim.runner.reuse.equal_trials import EarlierTrials
from fmim.runner.reuse.shared_records import SharedRecords
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.search.selection import Outcome
from fmim_core.data.bank.bank import Bank
from fmim_core.records import EpochRow, ProposalsFile, Record, SelectionFile, Status
from fmim_core.seeding import derive_seed
from fmim_core.trial.checkpoint import checkpoint_path, write_checkpoint
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Choice, Space, Uniform
from fmim_spaces.searcher import Searcher
from tests.support.documents import epoch_row, trial_record
from tests.support.mini_study import MINI, with_epochs

Metric = Callable[[TrialSpec, int], float]

MARGINS = Space(
    ranges=(Uniform(path="margins.epsilon", low=0.05, high=1.0), Uniform(path="margins.beta", low=0.0, high=1.0))
)
MIXED = Space(
    choices=(
        Choice(path="margins.epsilon", values=(0.1, 0.5)),
        Choice(path="loss.lam", values=(0.5, 1.0, 2.0)),
    ),
    ranges=(Uniform(path="margins.beta", low=0.0, high=1.0),),
)


def hill(spec: TrialSpec, epoch: int) -> float:
    """An mAP that is best at ε = 0.4, β = 0.3, grows with the epochs, and differs between folds."""
    at = {"epsilon": 0.4, "beta": 0.3} | spec.configuration
    off = (at["epsilon"] - 0.4) ** 2 + (at["beta"] - 0.3) ** 2
    return 0.9 - off - 0.3 / (epoch + 1) + 0.01 * spec.replicate


def arm(name: str, searcher: Searcher, space: Space = MARGINS, **more: int) -> Arm:
    """An AdaTriplet arm with given margins; `more` of its settings, such as epochs."""
    settings = (("loss.kind", "adatriplet"), ("margins.kind", "fixed"), *more.items())
    return Arm(name=name, search=name, settings=settings, space=space, searcher=searcher)


def plan_of(*arms: Arm, seed: int = 0, replicates: int = 1, epochs: int = 9, folds: int = 2) -> Plan:
    """A plan of these arms, in a study called `searches`."""
    preset = MINI.model_copy(update={"folds": folds})
    study = Study(name="searches", title="Searches", question="Which?", presets=(preset,), arms=arms)
    return Plan(study, with_epochs(preset, epochs), seed, replicates)


def record_of(spec: TrialSpec, status: Status, epochs: int, metric: Metric, name: str = "mAP") -> Record:
    """A record as a trial leaves it after so many epochs; by any other metric than `name`, the worst is the best."""
    history = [epoch_row(epoch, validation_mAP=metric(spec, epoch)) for epoch in range(1, epochs + 1)]
    values = {"mAP": 1 - metric(spec, epochs)} | {name: metric(spec, epochs)} if epochs else None
    return trial_record(spec, status, values, history)


@dataclass(frozen=True)
class Kept:
    """An observer that keeps the records of trials, those that ran and those that took the record of an equal one."""

    records: dict[str, Record]

    def started(self, spec: TrialSpec) -> None: ...

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None: ...

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """As the dispatcher's observer."""
        self.records[spec.id] = record


class Simulation:
    """A study's folder that is run, killed and resumed; `started` are all trials that ever began.

    With `reuse` equal trials share a record, and trials have checkpoints.
    """

    def __init__(self, plan: Plan, bank: Bank, out: Path, metric: Metric = hill, reuse: bool = False) -> None:
        self.plan, self._bank, self.out, self._metric, self._reuse = plan, bank, out, metric, reuse
        self.told: list[str] = []
        self.records: dict[str, Record] = {}
        self.started: list[TrialSpec] = []
        self.idle_after: list[int] = []  # how many had begun whenever a slot was free and there was nothing for it

    def run(
        self, slots: int = 1, seed: int = 0, kill_after: int | None = None, bad: Mapping[str, Status] | None = None
    ) -> Dispatcher:
        """Run with so many trials at once, whose epochs come in random order, until `kill_after` are over."""
        done = {trial: Outcome.of(record) for trial, record in self.records.items()}
        over = {one for one, outcome in done.items() if outcome.final}
        shared = SharedRecords(
            self.out, EarlierTrials(self.out.parent, reuse=self._reuse), False, self.told.append, over
        )
        trials = Dispatcher(self.plan, self._bank, self.out, done, [Kept(self.records)], shared=shared)
        rng, running, ended = random.Random(seed), dict[str, list[Any]](), 0
        while ended != kill_after:
            while len(running) < slots and (spec := trials.next()) is not None:
                running[spec.id] = [spec, 0]
                self._check_on_disk(spec)
                self.started.append(spec)
                self._checkpoint(spec, complete=False)
            if len(running) < slots:
                self.idle_after.append(len(self.started))
            if not running:
                assert trials.exhausted
                break
            entry = running[rng.choice(sorted(running))]
            record = self._epoch(trials, entry, (bad or {}).get(entry[0].id, "completed"))
            if record is not None:
                del running[entry[0].id]
                ended += 1
                record.save(self.out)
                if record.status == "completed":
                    self._checkpoint(entry[0], complete=True)
                trials.finished(entry[0], record)
        return trials

    def _check_on_disk(self, spec: TrialSpec) -> None:
        """Assert that what led to a trial is on disk before it begins: its proposal, or its arm's winner, or all."""
        if spec.stage == "reference":
            chosen = SelectionFile.read(self.out / "selection.json").arms
            assert chosen.keys() == {arm.name for arm in self.plan.arms}
        elif spec.stage == "replicate":
            fixed = SelectionFile.read(self.out / "selection.json").by_split[spec.search_split]
            assert fixed[spec.arm].configuration == spec.configuration
        elif spec.stage == "search" and next(arm for arm in self.plan.arms if arm.name == spec.arm).listed is None:
            proposed = ProposalsFile.read(self.out / "proposals.json").by_split[spec.search_split]
            assert proposed[spec.arm][spec.number].configuration == spec.configuration

    def _checkpoint(self, spec: TrialSpec, complete: bool) -> None:
        """Write what a trial would resume from, or at its end a replicate's weights."""
        path = checkpoint_path(self.out, spec.id)
        if self._reuse and complete and spec.stage != "replicate":
            path.unlink()
        elif self._reuse:
            write_checkpoint(path, {"fingerprint": spec.fingerprint, "complete": complete, "model": {}})

    def _epoch(self, dispatcher: Dispatcher, entry: list[Any], status: Status) -> Record | None:
        entry[1] += 1
        (spec, epoch), name = entry, self.plan.study.metric
        if status != "completed":
            return record_of(spec, status, 0, self._metric, name)
        if epoch >= spec.epochs:
            return record_of(spec, "completed", epoch, self._metric, name)
        so_far = record_of(spec, "stopped", epoch, self._metric, name)
        return None if not spec.rungs or dispatcher.goes_on(spec, so_far.history) else so_far

    def configurations(self, name: str) -> list[dict[str, Any]]:
        """The distinct configurations of an arm's search trials, in the order of their numbers."""
        numbered = {
            spec.number: spec.configuration for spec in self.started if (spec.arm, spec.stage) == (name, "search")
        }
        return [numbered[number] for number in sorted(numbered)]

    def mean(self, name: str, number: int) -> float:
        """The mean over folds of a configuration."""
        values = [
            self.records[f"{name}.c{number:02d}.fold{fold}"].metrics.validation[self.plan.study.metric]
            for fold in range(self.plan.preset.folds)
        ]
        return math.fsum(values) / len(values)


Seconds = Callable[[TrialSpec, int, int], float]
"""Of a trial from the end of one epoch to that of another."""


@dataclass
class Slots:
    """Run a source's trials on so many slots; of all configurations none is better but by chance."""

    trials: TrialSource
    seconds: Seconds
    free: int
    now: float = 0.0
    running: list[tuple[float, int, TrialSpec, int]] = field(default_factory=list)  # when, tie, trial, epochs by then
    _ties: Iterator[int] = field(default_factory=itertools.count)

    def run(self) -> float:
        """Return the seconds from the first trial's start to the last one's end."""
        while True:
            while self.free and (spec := self.trials.next()) is not None:
                self.free -= 1
                self.trials.started(spec)
                self._train(spec, 0)
            if not self.running:
                return self.now
            self.now, _, spec, epochs = heapq.heappop(self.running)
            record = record_of(spec, "completed" if epochs == spec.epochs else "stopped", epochs, _score)
            if record.status == "stopped" and self.trials.goes_on(spec, record.history):
                self._train(spec, epochs)
            else:
                self.free += 1
                self.trials.finished(spec, record)

    def _train(self, spec: TrialSpec, after: int) -> None:
        """Train until the next rung, or to the end."""
        until = min((epoch for epoch in (*spec.rungs, spec.epochs) if epoch > after), default=spec.epochs)
        heapq.heappush(self.running, (self.now + self.seconds(spec, after, until), next(self._ties), spec, until))


def _score(spec: TrialSpec, epoch: int) -> float:
    return float(derive_seed("forecast", spec.arm, spec.number) / 2**63)
