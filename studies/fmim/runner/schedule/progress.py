"""How far a run is: counted while trials run, and written to progress.json for those who ask."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from fmim.runner.schedule.study_progress import StudyProgress
from fmim.runner.search.selection import Outcome, better
from fmim_core.metric_names import METRICS
from fmim_core.records import (
    EpochRow,
    ProgressFile,
    Record,
    RunningTrial,
    TrialCounts,
    TrialError,
    now,
    progress_path,
)
from fmim_core.trial.spec import TrialSpec

UPDATED_EVERY_S = 2.0  # the time that is left, and progress.json


class Progress:
    """Counts trials as an observer of them, for a block.

    A thread beside the trials' own work tells and writes how far they are, so that it is known in long epochs, too.

    Args:
        command: goes on with the study, where there is one.
        show: takes how far the study is, and the seconds that are left, every few seconds.
        warn: is told of a bad trial, at once.
    """

    def __init__(
        self,
        study: StudyProgress,
        out: Path,
        command: str | None,
        show: Callable[[StudyProgress, float | None], None],
        warn: Callable[[str], None],
    ) -> None:
        self._study, self._out, self._command, self._show, self._warn = study, out, command, show, warn
        self._lock, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._update_now_and_then, daemon=True)

    def __enter__(self) -> Progress:
        self._update()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._study.running.clear()
        self.write()

    def expect(self, reused: Mapping[str, TrialCounts]) -> None:
        """Take note that so many trials of each arm take the record of an equal one in all."""
        with self._lock:
            self._study.reused = dict(reused)

    def started(self, spec: TrialSpec) -> None:
        """Take note that a trial begins; where it is tried again, anew."""
        with self._lock:
            models = self._study.models(spec.stage)
            self._study.running[spec.id] = RunningTrial(
                trial=spec.id, arm=spec.arm, stage=spec.stage, started_at=now(), epochs=models * spec.epochs
            )

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """Take note of an epoch that a trial has run, which is perhaps its best one."""
        with self._lock:
            one = self._study.running[spec.id]
            best = better(one.best, row.validation_mAP, METRICS["mAP"])
            over = one.epoch // spec.epochs * spec.epochs + row.epoch  # each model of several counts from 1
            changes = {"epoch": over, "epoch_s": row.seconds, "best": best}
            self._study.running[spec.id] = one.model_copy(update=changes)

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """Count the trial; a bad one is named at once."""
        with self._lock:
            self._study.running.pop(spec.id, None)
            self._study.count(Outcome.of(record))
        if record.status not in ("completed", "stopped"):
            error = record.error or TrialError(kind="unknown")
            message = ((error.message or "").splitlines() or [""])[0][:200]
            self._warn(f"{spec.id} {record.status}: {error.kind}: {message}")

    def _update_now_and_then(self) -> None:
        while not self._over.wait(UPDATED_EVERY_S):
            self._update()

    def _update(self) -> None:
        with self._lock:
            left = self._study.seconds_left(datetime.now(UTC))
        self._show(self._study, left)
        self.write()

    def write(self) -> None:
        """Write progress.json as it is now."""
        with self._lock:
            running = list(self._study.running.values())
        file = ProgressFile(
            at=now(),
            command=self._command,
            running=running,
            lengths=dict(self._study.lengths),
            reused=self._study.reused,
        )
        with contextlib.suppress(OSError):  # a full disk: this is no result, and the next record says so
            file.write(progress_path(self._out))
