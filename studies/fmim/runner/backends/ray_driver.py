"""The way of a plan through Ray Tune: its searcher hands out the trials; workers are reused from trial to trial."""

from __future__ import annotations

import math
import os
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ray import tune
from ray.tune.experiment import Trial as RayTrial
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher

from fmim.own.study_file import run_code
from fmim.runner.backends.backend import TrialSource
from fmim.runner.backends.ray_cluster import RayCluster
from fmim_core.machine import cores, keep_freed_memory
from fmim_core.records import Code, Cost, EpochRow, Record, SoFar, TrialError, now, read_record
from fmim_core.trial.cost import cut_off, earlier_attempts
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, keep_stopped

RETRIES = 3  # of a trial whose worker or node died, from its checkpoint; errors inside a training are never retried
WORKER_S = 60.0  # for a worker to start and to import this program, where the cores are free
LAST_LINES = 5  # of a log, in a message
REPORT_S = 1.0  # from one report of a worker to the next: each keeps the worker waiting, and takes the driver 10 ms


@dataclass(frozen=True)
class Report:
    """The report of a worker after its trial's first epoch, about every second from then on, and at the end.

    It is one object, since Tune takes mappings apart and keeps moving averages of every number in them.

    rows: of the epochs since the last report. record: at the end of the trial. so_far: before, what is to be kept of it
    if the worker dies. if_stopped: its record if its search stops it now.
    """

    rows: tuple[EpochRow, ...]
    record: Record | None
    so_far: SoFar | None
    if_stopped: Record | None


class StudyTrainable(tune.Trainable):
    """One trial after the other in a reused worker process; a step is the epochs of one report."""

    def setup(  # type: ignore[override]
        self, config: dict[str, Any], trial: type[Trial], settings: RunSettings, threads: int, code: Code | None
    ) -> None:
        import torch

        if code is not None:
            run_code(code, settings.out / "code", alone=True)
        torch.set_num_threads(threads)
        keep_freed_memory()
        self._of, self._settings = trial, settings
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self._trial = self._of(TrialSpec.model_validate_json(new_config["spec"]), self._settings)
        self._due = 0.0
        return True

    def step(self) -> dict[str, Any]:
        trial, rows, due = self._trial, list[EpochRow](), False
        while not due:
            if (row := trial.step()) is not None:
                rows.append(row)
            # Its search may stop a trial with rungs after any epoch.
            due = trial.over or bool(trial.spec.rungs) or time.monotonic() >= self._due
        self._due = time.monotonic() + REPORT_S
        so_far = None if trial.over else trial.so_far
        if_stopped = trial.stopped() if trial.spec.rungs and not trial.over else None
        return {"report": Report(tuple(rows), trial.record, so_far, if_stopped), "done": trial.over}


class PlanSearcher(Searcher):
    """Tune's source of the driver's trials; it searches nothing itself."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(metric="done", mode="max")
        self._driver = driver

    def suggest(self, trial_id: str) -> Any:
        spec = self._driver.next(trial_id)
        if spec is None:
            return Searcher.FINISHED if self._driver.exhausted else None
        return {"spec": spec.model_dump_json()}  # a string: Tune copies mappings often, and keeps all of them

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Leave it to the driver, which also sees why a worker died."""

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune pickles it for restoring, which we never do: a study resumes from its records

    def save(self, checkpoint_path: str) -> None:
        """Save nothing, for the same reason."""


class InTurn(FIFOScheduler):
    """Tune's choice of the trial for a free worker: the first whose own worker does not start yet.

    By itself Tune takes the first of all, and stops the worker that starts for it. Where trials are shorter than the
    start of a worker, most workers would never train.
    """

    def __init__(self) -> None:
        super().__init__()
        self._due: list[RayTrial] = []

    def on_trial_add(self, tune_controller: Any, trial: RayTrial) -> None:
        """Take note of a trial that is new, or to be run again."""
        self._due.append(trial)

    def choose_trial_to_run(self, tune_controller: Any) -> RayTrial | None:
        """Return that trial; a worker that waits for its resources is pending to Tune."""
        self._due = [trial for trial in self._due if trial.status == RayTrial.PENDING]
        workers, waiting = tune_controller._trial_to_actor, {None, *tune_controller._actor_manager.pending_actors}
        return next((trial for trial in self._due if workers.get(trial) in waiting), None)


@dataclass
class Given:
    """A trial that Tune has.

    so_far: the last that was heard of it, and when; None until it begins. ended: its record, as soon as it is over.
    """

    spec: TrialSpec
    so_far: SoFar | None = None
    heard_at: float = 0.0
    ended: Record | None = None


class Driver(tune.Callback):
    """Hands the source's trials to Tune, and tells it what happens to them."""

    def __init__(self, source: TrialSource, settings: RunSettings, cluster: RayCluster, slots: int) -> None:
        self._source, self._settings, self._cluster = source, settings, cluster
        self._given: dict[str, Given] = {}  # by Tune's id
        self._again, self._deaths = deque[TrialSpec](), Counter[str]()  # of workers, by trial
        self._deaths_allowed: float = 2 * max(slots, 1 + RETRIES)  # without any that has run an epoch
        self._began, self._has_workers = time.monotonic(), False
        self._error: BaseException | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as for the searcher

    @property
    def exhausted(self) -> bool:
        """Return whether nothing follows; the last ones that run may have to be given again."""
        return self._source.exhausted and not self._given

    def next(self, trial_id: str) -> TrialSpec | None:
        """Return the trial that Tune is to run under this name; None if there is none now."""
        spec = self._again.popleft() if self._again else self._source.next()
        if spec is not None:
            self._given[trial_id] = Given(spec)
        return spec

    def stops(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        """Return whether the source stops a trial after an epoch; Tune asks before it tells of the result."""
        given, stopped = self._given[trial_id], result["report"].if_stopped
        if stopped is None or self._source.goes_on(given.spec, stopped.history):
            return False
        given.ended = stopped
        return True

    def end(self, error: BaseException) -> None:
        """Have the run end with this error, from any thread."""
        self._error = self._error or error

    def on_step_begin(self, iteration: int, trials: list[RayTrial], **info: Any) -> None:
        """Raise what ends the run: Tune lets an error through here, before it starts anything else.

        An error of the driver's own it would take for the trial's, and try that again.
        """
        if (fault := self._fault()) is not None:
            raise fault
        if self._deaths.total() >= self._deaths_allowed and not self._trains:
            self._lost(f"{self._deaths.total()} Ray workers died before any had trained an epoch")
        if not self._has_workers and not self._deaths and time.monotonic() - self._began > (seconds := worker_s()):
            self._lost(f"no Ray worker started within {seconds:.0f} s")

    @property
    def _trains(self) -> bool:
        """Whether a worker trains whose trial has never lost one: its first epoch may be long."""
        return any(given.so_far and not self._deaths[given.spec.id] for given in self._given.values())

    def _lost(self, why: str) -> NoReturn:
        raise ConnectionError(f"{why}\n{last_words(self._cluster.logs)}--backend inline needs none")

    def _fault(self) -> BaseException | None:
        """Return what ends the run, if anything does; the study's folder may have gone, too."""
        try:
            self._settings.check()
        except OSError as gone:
            self.end(gone)
        return self._error

    def on_trial_start(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        self._has_workers = True
        given = self._given[trial.trial_id]
        given.so_far, given.heard_at = nothing_heard(given.spec, self._settings), time.monotonic()
        self._source.started(given.spec)

    def on_trial_result(
        self, iteration: int, trials: list[RayTrial], trial: RayTrial, result: dict[str, Any], **info: Any
    ) -> None:
        given, report = self._given[trial.trial_id], result.pop("report")  # Tune keeps the last result of every trial
        if report.so_far is not None:
            given.so_far, given.heard_at = report.so_far, time.monotonic()
        given.ended, self._deaths_allowed = report.record or given.ended, math.inf
        for row in report.rows:
            self._source.epoch(given.spec, row)

    def on_trial_complete(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        given, out = self._given.pop(trial.trial_id), self._settings.out
        try:
            self._settings.check()
            record, written = given.ended, read_record(out, given.spec.id)
            assert record is not None
            if record.status == "stopped":
                keep_stopped(out, record)
            # Not there, or of an earlier attempt, where the worker was on a machine with a disk of its own.
            elif written is None or written.ended_at != record.ended_at:
                record.save(out)
            self._source.finished(given.spec, record)
        except Exception as error:
            self.end(error)
            raise

    def on_trial_recover(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        if self._fault() is None:
            self._record_of_dead_worker(trial)  # the attempt that follows finds it
            self._given[trial.trial_id].so_far = None

    def on_trial_error(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        if self._fault() is None:
            record, given = self._record_of_dead_worker(trial), self._given.pop(trial.trial_id)
            # Tune recovers a trial that runs, but not one whose worker, used before, dies when it is to begin.
            if given.so_far is None and self._deaths[given.spec.id] <= RETRIES:
                self._again.append(given.spec)
            else:
                self._source.finished(given.spec, record)

    def _record_of_dead_worker(self, trial: RayTrial) -> Record:
        given, noted = self._given[trial.trial_id], trial.error_file  # `get_error` has it only once it was copied
        error = Path(noted).read_text() if noted and Path(noted).exists() else "Ray does not say why"
        self._deaths[given.spec.id] += 1
        silent_s = time.monotonic() - given.heard_at if given.so_far else 0.0
        so_far = given.so_far or nothing_heard(given.spec, self._settings)  # it may die before its trial begins
        return record_of_dead_worker(given.spec, error, self._settings.out, so_far, silent_s)


def worker_s() -> float:
    """Return how many seconds a worker may take to start: up to ten times as long where others use the cores, too."""
    return WORKER_S * min(max(1.0, os.getloadavg()[0] / cores()), 10.0)


def nothing_heard(spec: TrialSpec, settings: RunSettings) -> SoFar:
    """Return what is known of a trial that begins now."""
    attempts = earlier_attempts(read_record(settings.out, spec.id), spec.fingerprint)
    return SoFar(started_at=now(), cost=Cost(device_share=settings.device_share), attempts=attempts)


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
    failure = TrialError(kind=kind, message=error.strip()[:2000], traceback=error)
    ended = {"ended_at": now(), "attempts": so_far.attempts, "cost": cut_off(so_far.cost, silent_s), "error": failure}
    record = spec.record(so_far.started_at).changed(ended)
    record.save(out)
    return record


def last_words(logs: Path) -> str:
    """Return the last lines of the newest log with errors of a worker, or of what starts them, with its name."""
    for kind in ("worker-*.err", "raylet.err", "raylet.out"):
        for log in sorted(logs.glob(kind), key=lambda log: log.stat().st_mtime, reverse=True):
            lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            lines = [line for line in lines if not line.startswith(":")]  # Ray's own marks
            if lines:
                return "\n  ".join([f"The last lines of {log}:", *lines[-LAST_LINES:]]) + "\n"
    return ""
