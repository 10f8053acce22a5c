"""How long what is left of a study will take, by what its trials took so far, in the order in which trials run."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Measured:
    """Sums over trials that are over. length: in the units of a plan, comparable within it."""

    trials: int = 0
    startup: float = 0.0
    length: float = 0.0
    seconds: float = 0.0  # start-up not included

    def add(self, length: float, startup: float, seconds: float) -> None:
        """Take in one trial, of `seconds` after its start-up."""
        self.trials += 1
        self.startup += startup
        self.length += length
        self.seconds += seconds

    def of(self, length: float) -> float:
        """Seconds of such a trial: start-up + length × seconds a unit of it; the mean where no length is known."""
        whole = length * self.seconds / self.length if self.length else self.seconds / self.trials
        return self.startup / self.trials + whole


@dataclass
class Durations:
    """What trials take, learnt from those that are over: of the same arm and stage if there are any, else of the same
    arm, else of all."""

    _of_stage: dict[tuple[str, str], Measured] = field(default_factory=dict)
    _of_arm: dict[str, Measured] = field(default_factory=dict)
    _of_all: Measured = field(default_factory=Measured)

    def add(self, arm: str, stage: str, length: float, startup: float, seconds: float) -> None:
        """Take in a trial, of `seconds` after its start-up."""
        groups = [self._of_stage.setdefault((arm, stage), Measured()), self._of_arm.setdefault(arm, Measured())]
        for group in (*groups, self._of_all):
            group.add(length, startup, seconds)

    def knows(self, arm: str, stage: str) -> bool:
        """Whether a trial of the arm was over in this stage."""
        return (arm, stage) in self._of_stage

    def __bool__(self) -> bool:
        """Whether there is anything to go by."""
        return bool(self._of_all.trials)

    def of(self, arm: str, stage: str, length: float) -> float:
        """Seconds of such a trial."""
        measured = self._of_stage.get((arm, stage)) or self._of_arm.get(arm) or self._of_all
        return measured.of(length)


@dataclass(frozen=True)
class Waiting:
    """Trials of an arm that have not begun: so many of its search, then replicates, of so many seconds each.

    searching: trials of the search that are running. A reference has replicates alone, which wait for every search.
    """

    search: int = 0
    search_s: float = 0.0
    searching: int = 0
    replicates: int = 0
    replicate_s: float = 0.0
    reference: bool = False


def makespan(running: Sequence[tuple[str, float]], waiting: Mapping[str, Waiting], slots: int) -> float:
    """Seconds until the last trial is over, if they run as the dispatcher hands them out.

    Replicates of an arm follow its search and go first, the longest before others; references come last.

    Args:
        running: arm and seconds left of each trial that runs.
        waiting: by arm, in the order in which their searches run.
    """
    ends = [(seconds, arm) for arm, seconds in running]
    heapq.heapify(ends)
    queue, free, now = Queue(waiting), slots - len(ends), 0.0
    while True:
        while free > 0 and (trial := queue.next()) is not None:
            free -= 1
            heapq.heappush(ends, (now + trial[1], trial[0]))
        if not ends:
            return now
        now, arm = heapq.heappop(ends)
        free += 1
        queue.over(arm)


class Queue:
    """Hands out waiting trials as `makespan` says."""

    def __init__(self, waiting: Mapping[str, Waiting]) -> None:
        self._waiting = waiting
        self._search = {arm: one.search for arm, one in waiting.items()}
        self._searching = {arm: one.search + one.searching for arm, one in waiting.items()}
        self._ready: list[tuple[float, str, int]] = []  # a heap: the longest, arm, how many
        for arm, one in waiting.items():
            if not self._searching[arm] and not one.reference:
                self._release(arm)
        self._release_references()

    def next(self) -> tuple[str, float] | None:
        """Arm and seconds of the next trial; None if there is none now."""
        if self._ready:
            seconds, arm, count = heapq.heappop(self._ready)
            if count > 1:
                heapq.heappush(self._ready, (seconds, arm, count - 1))
            return arm, -seconds
        for arm, count in self._search.items():
            if count:
                self._search[arm] -= 1
                return arm, self._waiting[arm].search_s
        return None

    def over(self, arm: str) -> None:
        """A trial of an arm is over; its replicates follow the last one of its search."""
        if self._searching.get(arm, 0):
            self._searching[arm] -= 1
            if not self._searching[arm]:
                self._release(arm)
                self._release_references()

    def _release(self, arm: str) -> None:
        if count := self._waiting[arm].replicates:
            heapq.heappush(self._ready, (-self._waiting[arm].replicate_s, arm, count))

    def _release_references(self) -> None:
        if not any(self._searching.values()):
            for arm, one in self._waiting.items():
                if one.reference:
                    self._release(arm)


def about(seconds: float) -> str:
    """A duration that is not exact: `about 40 s`, `about 12 min`, `about 3 h 20 min`, `about 2 days 5 h`."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    minutes = math.ceil(seconds / 60)
    if minutes < 90:
        return f"about {minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"about {hours} h {minutes} min" if hours < 36 else f"about {hours // 24} days {hours % 24} h"
