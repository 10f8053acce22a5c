"""Live progress of the process that runs a study: on the terminal, and in progress.json for those who ask."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live

from fmim.runner.schedule.study_progress import StudyProgress
from fmim.runner.schedule.time_left import about
from fmim.runner.search.selection import Outcome, better
from fmim.terminal.tables import Listing
from fmim_core.metric_names import METRICS
from fmim_core.records import (
    EpochRow,
    ProgressFile,
    Record,
    RunningTrial,
    TrialCounts,
    TrialError,
    in_terminal,
    now,
    progress_path,
)

if TYPE_CHECKING:  # `fmim status` shows what this writes, and needs no torch
    from fmim_core.trial.spec import TrialSpec

PLAIN_EVERY_S = 15.0  # between two lines where there is no terminal to redraw
LOOKED_EVERY_S = 2.0  # between two estimates of the time that is left, and two versions of progress.json

PAUSE_SHARE = 50.0  # pauses are so many times as long as the CPU time of looking, which grows with the trials left


class Progress:
    """A table that redraws itself on a terminal, and a line now and then elsewhere.

    A thread beside the trials' own work says and writes how far they are, so that it is known in long epochs, too. What
    is drawn waits for no lock: a signal may interrupt whoever has one, and draws as well.
    """

    def __init__(
        self, study: StudyProgress, done: Iterable[Outcome], out: Path, console: Console, command: str | None = None
    ) -> None:
        self._study, self._out, self._console, self._command = study, out, console, command
        for outcome in done:
            study.count(outcome)
        self._lock, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._look_now_and_then, daemon=True)
        self._printed, self._said = time.monotonic(), study.done
        self._redraws = console.is_terminal and not console.is_dumb_terminal
        self._look()
        self._live = Live(console=console, get_renderable=self.shown, refresh_per_second=2, transient=True)

    def __enter__(self) -> Progress:
        self._thread.start()
        if self._redraws:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._redraws:
            self._live.stop()
        self._over.set()
        self._thread.join()
        self._study.running.clear()
        self.write()

    def expect(self, reused: Mapping[str, TrialCounts]) -> None:
        """From now on it is known that so many trials of each arm take the record of an equal one in all."""
        with self._lock:
            self._study.reused = dict(reused)

    def started(self, spec: TrialSpec) -> None:
        """A trial runs from now on; where it is tried again, anew."""
        with self._lock:
            models = self._study.models(spec.stage)
            self._study.running[spec.id] = RunningTrial(
                trial=spec.id, arm=spec.arm, stage=spec.stage, started_at=now(), epochs=models * spec.epochs
            )

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """One more epoch of a running trial, and perhaps its best one."""
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
            said = in_terminal(f"{error.kind}: {message}")
            self._console.print(f"[yellow]{spec.id} {record.status}[/]: {said}", highlight=False, soft_wrap=True)

    def _look_now_and_then(self) -> None:
        pause = LOOKED_EVERY_S
        while not self._over.wait(pause):
            begun = time.thread_time()
            self._look()
            pause = max(LOOKED_EVERY_S, PAUSE_SHARE * (time.thread_time() - begun))
            if not self._redraws and self._said < self._study.done and time.monotonic() - self._printed > PLAIN_EVERY_S:
                self._printed, self._said = time.monotonic(), self._study.done
                self._console.print(self.line(), highlight=False, soft_wrap=True)

    def _look(self) -> None:
        """Estimate how long it will take, and write how far it is."""
        with self._lock:
            self._looked, self._left = time.monotonic(), self._study.seconds_left(datetime.now(UTC))
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

    def line(self) -> str:
        """The whole in one line."""
        left = None if self._left is None else max(0.0, self._left - (time.monotonic() - self._looked))
        return in_one_line(self._study, left)

    def shown(self) -> RenderableType:
        """The whole by arm, and the trials that run."""
        tables = (arms_of(self._study), running_of(self._study))
        return Group(self.line(), *(table.fitting(self._console) for table in tables if table.rows))


def in_one_line(study: StudyProgress, seconds_left: float | None) -> str:
    """How many trials are over, how many run, and for how long."""
    reuse = {"reused": study.reused_so_far, "more to be reused": study.to_reuse}
    said = ", ".join(f"{number} {what}" for what, number in reuse.items() if number)
    parts = [f"{study.done} of {study.total} trials are over" + (f" ({said})" if said else "")]
    if study.running:
        parts.append(f"{len(study.running)} running")
    if seconds_left is not None and study.done < study.total:
        parts.append(f"{about(seconds_left)} left")
    return ", ".join(parts)


def arms_of(study: StudyProgress) -> Listing:
    """Each arm and reference with its trials, and its best fold."""
    rows = []
    for arm in study.arms.values():
        notes = [f"{arm.statuses['stopped']} stopped"] if arm.statuses["stopped"] else []
        notes += [f"{arm.bad} bad"] if arm.bad else []
        trials = f"{arm.done}/{arm.total}" + (f" ({', '.join(notes)})" if notes else "")
        rows.append((arm.label, trials, percent(arm.best)))
    return Listing(("arm", "trials", f"best {study.metric.label} of a fold"), rows)


def running_of(study: StudyProgress) -> Listing:
    """Each running trial with its epoch and its best value so far."""
    rows = [(one.trial, f"{one.epoch}/{one.epochs}", percent(one.best)) for one in list(study.running.values())]
    return Listing(("running", "epoch", "best validation mAP"), rows)


def percent(value: float | None) -> str:
    """As 81.3 %."""
    return "–" if value is None else f"{100 * value:.1f} %"
