"""Hands out the trials that are left to train, and takes over those that another study has completed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from fmim.runner.dispatcher import TrialSource
from fmim.runner.reuse.earlier import EarlierTrials
from fmim.runner.reuse.taking_over import take_over, usable
from fmim_core.records import EpochRow, Record, record_path
from fmim_core.trial.checkpoint import checkpoint_path
from fmim_core.trial.spec import TrialSpec


class Reusing:
    """A `TrialSource` in front of another one, whose trials it answers itself where a record can be taken over.

    It does so when a trial's turn comes, so that no replicate is taken over before its arm's winner is fixed. A trial
    that has begun here is not taken over: what it cost would be in no record.

    Args:
        on_gpu: whether trials train on GPUs here.
        tell: takes the reason for which the trials of a study are trained anew, once.
    """

    def __init__(
        self, trials: TrialSource, earlier: EarlierTrials, out: Path, on_gpu: bool, tell: Callable[[str], None]
    ) -> None:
        self._trials, self._earlier, self._out, self._on_gpu, self._tell = trials, earlier, out, on_gpu, tell
        self._told: set[tuple[str, str]] = set()
        self.reused: Counter[str] = Counter()  # trials, by the folder that they came from
        self.handed_out = 0

    @property
    def sentence(self) -> str:
        """How many trials were reused from where, and how many trained."""
        folders = ", ".join(f"{folder} ({number})" for folder, number in sorted(self.reused.items()))
        return f"{self.reused.total()} trials reused from {folders}; {self.handed_out} trained here"

    @property
    def exhausted(self) -> bool:
        """Whether no trial is left and none can follow."""
        return self._trials.exhausted

    def next(self) -> TrialSpec | None:
        """The next trial to train; None if there is none now."""
        while (spec := self._trials.next()) is not None:
            record = self._reused(spec)
            if record is None:
                self.handed_out += 1
                return spec
            self._trials.finished(spec, record)
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
        self._trials.finished(spec, record)

    def _reused(self, spec: TrialSpec) -> Record | None:
        """The trial's record, taken over; None where there is none that can stand for it."""
        if any(path(self._out, spec.id).exists() for path in (record_path, checkpoint_path)):
            return None
        for path in self._earlier.of(spec):
            folder = self._earlier.name(path)
            try:
                record = usable(path, spec, self._on_gpu)
            except (ValueError, OSError) as why:
                self._tell_once(folder, str(why))
                continue
            self.reused[folder] += 1
            return take_over(path, record, spec, self._out, folder)
        return None

    def _tell_once(self, folder: str, why: str) -> None:
        if (folder, why) not in self._told:
            self._told.add((folder, why))
            self._tell(f"not reused from {folder}: {why}")
