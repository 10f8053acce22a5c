"""The MLflow mirror: every trial as a run, written by one thread, and never in the way of training; `fmim mirror`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fmim.runner.folder.locks import locked
from fmim.runner.folder.study_folder import check_folder
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.runs import STATUS_OF_STUDY, Identity, Runs
from fmim_core.records import EpochRow, Record, StudyFile, now, read_records
from fmim_core.trial.spec import TrialSpec

logger = logging.getLogger(__name__)

PATIENCE_S = 60.0  # for one thing that is written: MLflow waits 20 s for a database that another program holds
LONGEST_TROUBLE = 300  # letters; a server may answer with a page
AFTERWARDS = "Records are complete without it; once it works, the next start or `fmim mirror OUT` brings it up to date"


class Tracker:
    """Mirrors trials into MLflow from a thread of its own; `Runs` says what is written.

    It begins with the first trial, since importing MLflow would delay the workers' start, and with the records that
    MLflow has not got. What happens to a trial while the thread is busy with others is put together and written in one
    go, so that a slow server or disk costs details of time and not memory.

    At the first trouble, or where the end waits longer than `PATIENCE_S` for one thing to be written, the mirror is off
    and `tell` is told so, once: records are the truth. If MLflow had worked before, the mirror catches up with the
    records when it is closed.

    Args:
        records: reads those of trials that are over; called by the thread.
        tell: takes a sentence for the user, from any thread.
    """

    def __init__(
        self,
        address: TrackingAddress,
        identity: Identity,
        records: Callable[[], Iterable[Record]],
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self._address, self._records, self._tell = address, records, tell
        self._runs = Runs(address, identity, tell)
        self.caught_up = self._runs.caught_up  # as far as the mirror has caught up with the records
        self._running: dict[str, Record] = {}  # by trial: what is known of it so far
        self._waiting: dict[str, tuple[Record, bool]] = {}  # and whether it is over; the one that waits longest first
        self._changed = threading.Condition()  # of all of these
        self._busy, self._off, self._told = True, False, False
        self.written = 0  # how many things the thread has written
        self._ending: tuple[str, Path, str | None] | None = None
        self._thread = threading.Thread(target=self._work, name="mlflow-mirror", daemon=True)

    # The observer's part: called in the runner, returns at once.

    def started(self, spec: TrialSpec) -> None:
        """Make a trial's run, or open it again."""
        self._take(spec.record(now()))

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """Write an epoch's row, with the epoch as the step."""
        so_far = self._running.get(spec.id) or spec.record(now())
        self._take(so_far.model_copy(update={"history": (*so_far.history, row)}))

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """Write what is still missing of a trial, final metrics, cost, the record itself, and the status."""
        self._take(record, over=True)

    def _take(self, record: Record, over: bool = False) -> None:
        self._begin()
        with self._changed:
            self._running[record.trial] = record
            if over:
                del self._running[record.trial]
            if not self._off:
                self._waiting[record.trial] = record, over
            self._changed.notify_all()

    def settle(self, timeout_s: float = 120.0) -> bool:
        """Wait until what there is so far is mirrored, or has failed; return whether it is within the time."""
        self._begin()
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout_s)

    def close(self, status: str, out: Path, ended_at: str | None = None) -> bool:
        """Mirror the study's results, and end the parent run with `status`; return whether all is mirrored.

        Args:
            out: the study's folder; results are those that are there.
            ended_at: when the parent run has ended; now if nothing is said.
        """
        with self._changed:
            self._ending = status, out, ended_at
            self._changed.notify_all()
        self._begin()
        before = -1
        while self._thread.is_alive() and self.written > before:
            before = self.written
            self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            self._switch_off(f"no answer for {PATIENCE_S:.0f} s")
        return not self._off

    def _switch_off(self, trouble: str) -> None:
        with self._changed:
            told, self._off, self._told = self._told, True, True
            self._waiting.clear()
        if not told:
            whole = self._address.without_secrets(trouble)
            text = " ".join(whole.rpartition("Caused by ")[2].split())[:LONGEST_TROUBLE].rstrip(".")
            self._tell(f"MLflow at {self._address}: {text}. {AFTERWARDS}")

    def _begin(self) -> None:
        with self._changed:
            if self._thread.ident is None:
                self._thread.start()

    # The thread's part.

    def _work(self) -> None:
        works = self._attempt(self._catch_up()) and self._attempt(self._follow())
        self._wait_for(lambda: self._ending)
        if self.written and not works:  # it may have been away for a while only
            self._off = False
            works = self._attempt(self._catch_up())
        if works:
            self._attempt(self._end())

    def _wait_for(self, something: Callable[[], object]) -> None:
        """Wait for something to do."""
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            self._changed.wait_for(something)
            self._busy = True

    def _attempt(self, steps: Iterator[None]) -> bool:
        """Take steps, each of which writes something, as long as the mirror is on; return whether it still is."""
        try:
            for _ in steps:
                self.written += 1
                if self._off:  # that came too late
                    break
        except Exception as error:
            self._switch_off(f"{type(error).__name__}: {error}")
        return not self._off

    def _catch_up(self) -> Iterator[None]:
        yield from self._runs.connect()
        for record in self._records():
            self._runs.catch_up(record)
            yield
        self._runs.close_left_running()
        yield

    def _follow(self) -> Iterator[None]:
        while True:
            self._wait_for(lambda: self._waiting or self._ending)
            with self._changed:
                if not self._waiting:
                    return
                record, over = self._waiting.pop(next(iter(self._waiting)))
            self._runs.write(record, over)
            yield

    def _end(self) -> Iterator[None]:
        assert self._ending is not None
        status, out, ended_at = self._ending
        yield from self._runs.write_results(out)
        self._runs.finish(status, ended_at)
        yield


def mirror_study(out: Path, study: StudyFile, address: TrackingAddress, tell: Callable[[str], None]) -> bool:
    """Write to MLflow what it has not got of a study; return whether all of it is there now.

    Args:
        tell: takes what was done, and what is wrong.

    Raises:
        ValueError: somebody runs in the folder, or it holds what no study writes.
    """
    check_folder(out, study.study, mirror=address.files_in(out.absolute()))

    def leave_out(path: Path, damaged: ValueError) -> None:
        tell(f"{damaged}: left out")

    with locked(out) as unlocked:
        if unlocked:
            tell(unlocked)
        last = study.executions[-1]
        tracker = Tracker(address, Identity.of(study), lambda: read_records(out, leave_out, ValueError), tell)
        whole = tracker.close(STATUS_OF_STUDY[last.exit_code], out, last.ended_at)
    done = tracker.caught_up
    if whole:
        tell(
            f"mirrored to {address}: {done['created']} trials created, {done['updated']} updated, "
            f"{done['unchanged']} unchanged, {done['killed']} left running closed as KILLED"
        )
    return whole
