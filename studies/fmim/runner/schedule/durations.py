"""The durations of trials, learnt from those that are over, and how long many of them take together."""

from __future__ import annotations

import heapq
from collections.abc import Iterable


class Durations:
    """The time that trials take by their length: as in their arm and stage if any are over, else in the arm, or in all.

    A length is in the units of a plan, comparable within it.
    """

    def __init__(self) -> None:
        self._trials: dict[tuple[str, ...], list[tuple[float, float, float]]] = {}  # length, start-up, seconds after it

    def __contains__(self, group: tuple[str, str]) -> bool:
        """Say whether a trial of the arm was over in this stage."""
        return group in self._trials

    def __bool__(self) -> bool:
        """Say whether there is anything to go by."""
        return bool(self._trials)

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
