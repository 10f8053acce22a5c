"""Simulated slots: trials in the order in which a dispatcher hands them out, each as long as a clock says."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fmim.runner.backends.backend import TrialSource
from fmim_core.seeding import derive_seed
from fmim_core.trial.spec import TrialSpec
from tests.support.simulation import record_of

Seconds = Callable[[TrialSpec, int, int], float]
"""Of a trial from the end of one epoch to that of another."""


@dataclass
class Slots:
    """Runs a source's trials on so many slots; of all configurations none is better but by chance."""

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
