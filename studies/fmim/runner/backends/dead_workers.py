"""The record of a trial whose worker died, from the last that was heard of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from fmim_core.records import Attempt, Cost, Record, SoFar, TrialError, now, read_record
from fmim_core.trial.cost import cut_off, earlier_attempts
from fmim_core.trial.spec import TrialSpec


@dataclass(frozen=True)
class LastReport:
    """The last that was heard of a running trial, and when; `attempts` is None while its worker has said nothing."""

    started_at: str
    cost: Cost
    attempts: tuple[Attempt, ...] | None = None
    at: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, so_far: SoFar) -> LastReport:
        """Return one that was heard just now."""
        return cls(so_far.started_at, so_far.cost, so_far.attempts)


def record_of_dead_worker(spec: TrialSpec, error: str, out: Path, last: LastReport) -> Record:
    """Write and return the record of a trial that could not write its own; one that it did write just before stands."""
    written = read_record(out, spec.id)
    if written is not None and written.final:
        return written
    memory = "OutOfMemory" in error or "running low on memory" in error
    kind = "out of memory" if memory else "worker died"
    known = earlier_attempts(written, spec.fingerprint) if last.attempts is None else last.attempts
    record = spec.record(last.started_at).changed(
        {
            "ended_at": now(),
            "attempts": known,
            "cost": cut_off(last.cost, time.monotonic() - last.at),
            "error": TrialError(kind=kind, message=error.strip()[:2000], traceback=error),
        }
    )
    record.save(out)
    return record
