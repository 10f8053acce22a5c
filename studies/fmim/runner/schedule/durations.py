"""How long trials take, learnt from those that are over, and how long many of them take together."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class Measured:
    """Sums over trials that are over. length: in the units of a plan, comparable within it."""

    trials: int = 0
    startup: float = 0.0
    length: float = 0.0
    seconds: float = 0.0  # start-up not included

    def of(self, length: float) -> float:
        """Return the seconds of such a trial: start-up + length × seconds a unit; the mean where no length is known."""
        whole = length * self.seconds / self.length if self.length else self.seconds / self.trials
        return self.startup / self.trials + whole


class Durations:
    """What trials take: as those of the same arm and stage if any are over, else of the same arm, else all."""

    def __init__(self) -> None:
        self._measured: dict[tuple[str, ...], Measured] = {}

    def __bool__(self) -> bool:
        """Say whether there is anything to go by."""
        return bool(self._measured)

    def knows(self, arm: str, stage: str) -> bool:
        """Say whether a trial of the arm was over in this stage."""
        return (arm, stage) in self._measured

    def add(self, arm: str, stage: str, length: float, startup: float, seconds: float) -> None:
        """Take in a trial, of `seconds` after its start-up."""
        for key in _groups(arm, stage):
            group = self._measured.setdefault(key, Measured())
            group.trials += 1
            group.startup += startup
            group.length += length
            group.seconds += seconds

    def of(self, arm: str, stage: str, length: float) -> float:
        """Return the seconds of such a trial."""
        return next(self._measured[key] for key in _groups(arm, stage) if key in self._measured).of(length)


def _groups(arm: str, stage: str) -> tuple[tuple[str, ...], ...]:
    """Return the groups that a trial is in, the nearest first."""
    return (arm, stage), (arm,), ()


def shared_out(waiting: Iterable[float], busy: Iterable[float], slots: int) -> float:
    """Return the seconds until all trials are over, the longest first, on slots of which some are busy for a while.

    The dispatcher's order takes a few percent more, since some trials wait for others.
    """
    ends = heapq.nlargest(slots, [*busy, *[0.0] * slots])
    heapq.heapify(ends)
    for seconds in sorted(waiting, reverse=True):
        heapq.heapreplace(ends, ends[0] + seconds)
    return max(ends)
