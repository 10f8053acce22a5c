"""Hands out one of the trials that are equal, and gives the others its record."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol

from fmim.runner.backends.backend import TrialSource
from fmim_core.records import EpochRow, Record
from fmim_core.trial.spec import TrialSpec


class EqualRecords(Protocol):
    """Where the record of an equal trial comes from."""

    def may_stand_for(self, spec: TrialSpec) -> bool:
        """Whether the record of an equal trial may be this one's, too."""

    def take_over(self, spec: TrialSpec) -> Record | None:
        """The record of an equal trial as this trial's own; None if there is none."""

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """A trial of this study has run, and is over."""


class Reusing:
    """A `TrialSource` in front of another one, whose trials it answers itself where a record can be taken over.

    It does so when a trial's turn comes, so that no replicate is taken over before its arm's winner is fixed. Of equal
    trials in this study one is handed out; the others wait until it is over, while whatever else is due runs. If it
    leaves no result, the next of them is handed out.

    Args:
        begun: trials, by fingerprint, that an earlier execution has begun: equal ones wait for these. They are due, or
            else (where the plan has changed) nobody waits for them once nothing else is due.
    """

    def __init__(self, trials: TrialSource, records: EqualRecords, begun: Mapping[str, str]) -> None:
        self._trials, self._records, self._begun = trials, records, dict(begun)
        self._running: dict[str, str] = {}  # of trials that others may wait for, the names by fingerprint
        self._waiting: dict[str, list[TrialSpec]] = {}  # by fingerprint
        self._looked_at_again: deque[TrialSpec] = deque()  # those that have waited
        self.handed_out = 0

    @property
    def exhausted(self) -> bool:
        """Whether no trial is left and none can follow."""
        return self._trials.exhausted and not self._waiting and not self._looked_at_again

    def next(self) -> TrialSpec | None:
        """The next trial to train; None if there is none now."""
        while (spec := self._due()) is not None:
            if not self._records.may_stand_for(spec) or self._is_to_train(spec):
                self.handed_out += 1
                return spec
        return None

    def started(self, spec: TrialSpec) -> None:
        """A trial begins."""
        self._trials.started(spec)

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """A trial has run an epoch."""
        self._trials.epoch(spec, row)

    def goes_on(self, spec: TrialSpec, history: Sequence[EpochRow]) -> bool:
        """Whether a trial with rungs goes on."""
        return self._trials.goes_on(spec, history)

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """A trial is over, whatever its status."""
        self._records.finished(spec, record)
        self._trials.finished(spec, record)
        if self._running.get(spec.fingerprint) == spec.id:
            del self._running[spec.fingerprint]
            self._looked_at_again.extend(self._waiting.pop(spec.fingerprint, ()))

    def _due(self) -> TrialSpec | None:
        if not self._looked_at_again and (spec := self._trials.next()) is not None:
            return spec
        if not self._looked_at_again:
            for fingerprint in [one for one in self._waiting if one not in self._running]:
                del self._begun[fingerprint]
                self._looked_at_again.extend(self._waiting.pop(fingerprint))
        return self._looked_at_again.popleft() if self._looked_at_again else None

    def _is_to_train(self, spec: TrialSpec) -> bool:
        """Whether the trial is to be trained; if not, it has a record now, or waits for an equal one."""
        if (record := self._records.take_over(spec)) is not None:
            self._trials.finished(spec, record)
            return False
        fingerprint = spec.fingerprint
        if fingerprint in self._running or self._begun.get(fingerprint, spec.id) != spec.id:
            self._waiting.setdefault(fingerprint, []).append(spec)
            return False
        self._begun.pop(fingerprint, None)
        self._running[fingerprint] = spec.id
        return True
