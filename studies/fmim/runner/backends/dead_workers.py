"""The record of a trial whose worker died, from the last that was heard of it."""

from __future__ import annotations

from pathlib import Path

from fmim_core.records import Cost, Record, SoFar, TrialError, now, read_record
from fmim_core.trial.cost import cut_off, earlier_attempts
from fmim_core.trial.spec import TrialSpec


def nothing_heard(spec: TrialSpec, out: Path, device_share: float) -> SoFar:
    """Return what is known of a trial that begins now."""
    attempts = earlier_attempts(read_record(out, spec.id), spec.fingerprint)
    return SoFar(started_at=now(), cost=Cost(device_share=device_share), attempts=attempts)


def record_of_dead_worker(spec: TrialSpec, error: str, out: Path, so_far: SoFar, silent_s: float) -> Record:
    """Write and return the record of a trial that could not write its own; one that it did write just before stands.

    Args:
        so_far: the last that was heard of it, `silent_s` seconds ago.
    """
    written = read_record(out, spec.id)
    if written is not None and written.final:
        return written
    memory = "OutOfMemory" in error or "running low on memory" in error
    kind = "out of memory" if memory else "worker died"
    record = spec.record(so_far.started_at).changed(
        {
            "ended_at": now(),
            "attempts": so_far.attempts,
            "cost": cut_off(so_far.cost, silent_s),
            "error": TrialError(kind=kind, message=error.strip()[:2000], traceback=error),
        }
    )
    record.save(out)
    return record
