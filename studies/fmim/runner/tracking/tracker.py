"""The MLflow mirror: every trial as a run, written by one thread, and never in the way of training."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from fmim.runner.tracking.mlflow_runs import Identity, Runs, TrialUpdate
from fmim_core.records import EpochRow, Record, now
from fmim_core.trial.spec import TrialSpec

logger = logging.getLogger(__name__)

GIVE_UP_AFTER = 3  # troubles in a row


class Tracker:
    """Mirrors trials into MLflow from a thread of its own; `Runs` says what is written.

    What happens to a trial while the thread is busy with others is put together and written in one go, so that a slow
    server or disk costs details of time and not memory. Records that never reached the tracker are mirrored at the next
    start. Trouble is logged and counted, and after three in a row the mirror gives up: records are the truth.

    Args:
        records: of trials that are over, read by the thread.
    """

    def __init__(self, uri: str, identity: Identity, records: Iterable[Record]) -> None:
        self._runs = Runs(uri, identity)
        self._waiting: dict[str, TrialUpdate] = {}  # by trial, the one that waits longest first
        self._changed = threading.Condition()  # of what waits, of `_busy` and of `_closing`
        self._busy, self._closing = True, False
        self._troubles: list[str] = []
        self._in_a_row = 0
        self.written = 0  # how often the thread has turned to MLflow
        self._ending: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._work, args=(records,), name="mlflow-mirror", daemon=True)
        self._thread.start()

    # The observer's part: called in the runner, returns at once.

    def started(self, spec: TrialSpec) -> None:
        """A trial begins: its run is made, or opened again."""
        with self._update_of(spec) as update:
            update.beginning = spec.record(now())

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """A trial has run an epoch: its row, with the epoch as the step."""
        with self._update_of(spec) as update:
            update.rows.append(row)

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """A trial is over: what is still missing, final metrics, cost, the record itself, and the status."""
        with self._update_of(spec) as update:
            update.record = record

    @contextmanager
    def _update_of(self, spec: TrialSpec) -> Iterator[TrialUpdate]:
        with self._changed:
            yield self._waiting.setdefault(spec.id, TrialUpdate(spec.id))
            self._changed.notify_all()

    def settle(self, timeout_s: float = 120.0) -> bool:
        """Wait until what was to be mirrored so far is mirrored, or has failed; whether it is within the time."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._waiting or self._busy), timeout_s)

    def close(self, status: str, artifacts: Iterable[Path], timeout_s: float = 120.0) -> list[str]:
        """Mirror the artifacts, end the parent run with `status`, and return the troubles there were, in words.

        Args:
            timeout_s: how long to wait for one trial's run, or for the parent's.
        """
        with self._changed:
            self._ending = lambda: self._runs.finish_parent(status, list(artifacts))
            self._closing = True
            self._changed.notify_all()
        before = -1
        while self._thread.is_alive() and before != self.written:
            before = self.written
            self._thread.join(timeout_s)
        if self._thread.is_alive():
            self._troubles.append(f"the mirror was still busy after {timeout_s:g} s")
        return self._troubles

    # The thread's part.

    def _work(self, records: Iterable[Record]) -> None:
        self._in_a_row = GIVE_UP_AFTER - 1  # without a connection nothing else can work
        self._attempt(lambda: self._runs.connect(records))
        while (update := self._next()) is not None:
            self._attempt(partial(self._runs.write, update))
        self._attempt(self._ending)

    def _next(self) -> TrialUpdate | None:
        """What has waited longest, once there is something; None at the end."""
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._closing)
            self._busy = bool(self._waiting)
            return self._waiting.pop(next(iter(self._waiting))) if self._waiting else None

    def _attempt(self, task: Callable[[], None]) -> None:
        self.written += 1
        if self._in_a_row >= GIVE_UP_AFTER:
            return
        try:
            task()
            self._in_a_row = 0
        except Exception as error:
            self._in_a_row += 1
            self._troubles.append(f"{type(error).__name__}: {str(error).strip()[:200]}")
            logger.warning("MLflow: %s", self._troubles[-1])
