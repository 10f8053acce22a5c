"""What a plan will take: its trials in the dispatcher's order on the slots there are, each as long as calibrated."""

from __future__ import annotations

import heapq
import itertools
import math
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fmim.plan import Plan
from fmim.plan.workload import Work, Workload
from fmim.runner.backends.backend import TrialSource
from fmim.runner.forecast.calibrate import Calibration, training_key
from fmim.runner.forecast.equal import ForecastRecords
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.schedule.reusing import Reusing
from fmim_core.data.bank.bank import Bank
from fmim_core.records import EpochRow, Metrics, now
from fmim_core.seeding import derive_seed
from fmim_core.trial.spec import TrialSpec


@dataclass(frozen=True)
class Forecast:
    """A prediction of a whole plan, in the words of the report.

    Args:
        trials: to train. reused: those besides that take the record of an equal one.
        wall_s: from the start of the program's work to the end of the last trial.
        device_seconds: start-up, data, training and evaluation of all trials × the share of a device.
        peak_memory: bytes of the trial that needs most.
    """

    trials: int
    reused: int
    epochs: int
    images: int
    wall_s: float
    device_seconds: float
    peak_memory: float


def forecast(
    plan: Plan,
    workload: Workload,
    bank: Bank,
    calibration: Calibration,
    slots: int,
    device_share: float,
    preparation: float,
    equal: ForecastRecords,
) -> Forecast:
    """Run the plan's dispatcher through without training anything.

    Scores are drawn, since no one knows them yet: it matters for searches that stop trials alone, which stop as many
    of them as they would if all configurations were equally good, and for searches on other splits, which then select
    as by chance.

    Args:
        preparation: seconds from the start of the program to the start of the runner.
        equal: the records that trials take instead of being trained.
    """
    clock = Clock(workload, calibration, int(bank.summary["test"]["images"]))
    with tempfile.TemporaryDirectory(prefix="fmim-forecast-") as folder:
        trials = Reusing(Dispatcher(plan, bank, Path(folder), {}), equal, {})
        makespan = Slots(trials, clock, slots, plan.study.metric).run()
    return Forecast(
        **asdict(clock.work),
        reused=equal.reused,
        wall_s=preparation + calibration.launch + makespan + calibration.finish,
        device_seconds=clock.busy * device_share,
        peak_memory=max(timing.peak_memory for timing in calibration.timings.values()),
    )


@dataclass
class Clock:
    """Says how long trials take, and adds up what they cost."""

    workload: Workload
    calibration: Calibration
    test_images: int
    work: Work = field(default_factory=Work)
    busy: float = 0.0

    def start(self, cold: bool) -> float:
        """From a free slot to a trial on it, `cold` if it is the slot's first."""
        self.busy += self.calibration.first if cold else 0.0
        return self.calibration.first if cold else self.calibration.gap

    def seconds(self, spec: TrialSpec, after: int, until: int) -> float:
        """From the end of epoch `after` (0: from nothing) to that of epoch `until`; or of the trial.

        A trial of several trainings has no rungs: it is asked for as a whole.
        """
        timing = self.calibration.timings[training_key(spec.train)]
        models = len(self.workload.trainings(spec.fold, spec.search_split)) if spec.epochs else 1
        epochs, steps = until - after, self.workload.batches(spec.train, spec.fold, spec.search_split)
        validations = sum(map(spec.train.validates, range(after + 1, until + 1)))
        validated = validations * self.workload.validated(spec.fold, spec.search_split)
        busy = epochs * steps * timing.step + validated * timing.image
        if not after:
            busy += models * (timing.startup + (timing.warm_up if until else 0.0))  # a reference has no first epoch
        if spec.reads_test_set and until == spec.epochs:
            busy += models * self.test_images * timing.image
        self.busy += busy
        self.work += Work(0 if after else 1, epochs * models, epochs * steps * spec.train.batches.size)
        return busy + epochs * models * timing.between


@dataclass
class Slots:
    """Simulates the runner: trials on slots, in the order in which the dispatcher hands them out."""

    dispatcher: TrialSource
    clock: Clock
    free: int
    metric: str
    _now: float = 0.0
    _running: list[tuple[float, int, TrialSpec, int]] = field(default_factory=list)  # when, tie, trial, epochs by then
    _ties: Iterator[int] = field(default_factory=itertools.count)

    def run(self) -> float:
        """The seconds from the first trial's start to the last one's end."""
        cold = self.free
        while True:
            while self.free and (spec := self.dispatcher.next()) is not None:
                self.free -= 1
                self._train(spec, 0, self.clock.start(cold > 0))
                cold -= 1
            if not self._running:
                return self._now
            self._now, _, spec, epochs = heapq.heappop(self._running)
            other = (spec.search_split,) if spec.search_split else ()
            score = derive_seed("forecast", spec.arm, spec.number, *other) / 2**63
            history = [_row(epoch + 1, score) for epoch in range(epochs)]
            over = epochs == spec.epochs
            if not over and self.dispatcher.goes_on(spec, history):
                self._train(spec, epochs)
                continue
            metrics = Metrics(validation={self.metric: score}, test={self.metric: score})
            status = "completed" if over else "stopped"
            parts = {"status": status, "history": tuple(history), "metrics": metrics}
            self.dispatcher.finished(spec, spec.record(now()).changed(parts))
            self.free += 1

    def _train(self, spec: TrialSpec, after: int, before: float = 0.0) -> None:
        """Train until the next rung, or to the end, `before` seconds from now."""
        until = min((epoch for epoch in (*spec.rungs, spec.epochs) if epoch > after), default=spec.epochs)
        end = self._now + before + self.clock.seconds(spec, after, until)
        heapq.heappush(self._running, (end, next(self._ties), spec, until))


def _row(epoch: int, score: float) -> EpochRow:
    """An epoch of which nothing is known but its score."""
    unknown = dict.fromkeys(EpochRow.model_fields, math.nan)
    none = {"batches": 0, "empty_batches": 0, "delta_histogram": None, "phi_an_histogram": None}
    return EpochRow.model_validate(unknown | none | {"epoch": epoch, "validation_mAP": score})
