"""The Ray backend: one Tuner whose searcher hands out the plan; actors are reused from trial to trial."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fmim.runner.cluster.settings  # noqa: F401

# isort: split
from ray import tune
from ray.tune.experiment import Trial as RayTrial
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher

from fmim.own.code import run_code
from fmim.runner.backends.dead_workers import LastReport, record_of_dead_worker
from fmim.runner.backends.room import Resources
from fmim.runner.cluster.nodes import WORKER_S, last_words
from fmim.runner.schedule.dispatcher import TrialSource
from fmim_core.records import Code, Cost, EpochRow, Record, SoFar, now, read_record
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, keep_stopped

RETRIES = 3  # of a trial whose worker or node died, from its checkpoint; errors inside a training are never retried


def run_ray(
    dispatcher: TrialSource,
    settings: RunSettings,
    resources: Resources,
    slots: int,
    trials: int,
    scratch: Path,
    logs: Path | None = None,
    code: Code | None = None,
    trial: Callable[[TrialSpec, RunSettings], Trial] = Trial,
) -> None:
    """Run everything the dispatcher hands out as a `trial`, `slots` at once. An interrupt passes through.

    Tune's own files, which nobody reads, go to the folder `scratch`. An error in the driver's part, such as a full
    disk, ends it and is raised; records so far are safe. So does it where the cluster is our own, with its `logs`
    there, and no worker has started in `WORKER_S`.
    """
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(slots)  # enough to keep every slot busy, no further ahead
    threads = max(1, int(resources.cpus))
    trainable = tune.with_resources(
        tune.with_parameters(StudyTrainable, trial=trial, settings=settings, threads=threads, code=code),
        tune.PlacementGroupFactory([{"CPU": resources.cpus, "GPU": resources.gpus or 0.0}]),
    )
    searcher, stopping = PlanSearcher(dispatcher), Stopping(dispatcher)
    callback = DispatcherCallback(dispatcher, searcher, stopping, settings, logs)
    with tempfile.TemporaryDirectory(prefix="tune-", dir=scratch) as storage:
        tuner = tune.Tuner(
            trainable,
            tune_config=tune.TuneConfig(
                search_alg=searcher,
                scheduler=stopping,
                num_samples=trials * (1 + RETRIES),  # some may be given again
                reuse_actors=True,
                trial_dirname_creator=lambda trial: trial.trial_id,
            ),
            run_config=tune.RunConfig(
                name="study",
                storage_path=storage,
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=RETRIES),
                checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
                callbacks=[callback],
            ),
        )
        tuner.fit()


@dataclass(frozen=True)
class Report:
    """What a worker says after each epoch: its row, the record at the end of the trial, or else what is to be kept of
    it if the worker dies, and if its search stops it now. One object, since Tune takes mappings apart and keeps moving
    averages of every number in them."""

    row: EpochRow | None
    record: Record | None
    so_far: SoFar | None
    if_stopped: Record | None


class StudyTrainable(tune.Trainable):
    """One trial after the other in a reused worker process; a step is an epoch."""

    def setup(  # type: ignore[override]
        self,
        config: dict[str, Any],
        trial: Callable[[TrialSpec, RunSettings], Trial],
        settings: RunSettings,
        threads: int,
        code: Code | None,
    ) -> None:
        import torch

        if code is not None:
            run_code(code, settings.out / "code")
        torch.set_num_threads(threads)
        self._of, self._settings = trial, settings
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self._trial = self._of(_spec(new_config), self._settings)
        return True

    def step(self) -> dict[str, Any]:
        trial = self._trial
        row = trial.step()
        so_far = None if trial.over else trial.so_far
        if_stopped = trial.stopped() if trial.spec.rungs and not trial.over else None
        return {"report": Report(row, trial.record, so_far, if_stopped), "done": trial.over}


class PlanSearcher(Searcher):
    """Gives Tune the dispatcher's trials; it searches nothing itself."""

    def __init__(self, dispatcher: TrialSource) -> None:
        super().__init__(metric="done", mode="max")
        self._dispatcher = dispatcher
        self._again: deque[TrialSpec] = deque()
        self._given_again: Counter[str] = Counter()
        self._running = 0

    def suggest(self, trial_id: str) -> Any:
        spec = self._again.popleft() if self._again else self._dispatcher.next()
        if spec is None:  # the last ones may have to be given again
            return Searcher.FINISHED if self._dispatcher.exhausted and not self._running else None
        self._running += 1
        return {"spec": spec.model_dump_json()}  # a string: Tune copies mappings often, and keeps all of them

    def give_again(self, spec: TrialSpec) -> bool:
        """Give Tune a trial once more; False where it has had it as often as it retries one."""
        if self._given_again[spec.id] == RETRIES:
            return False
        self._given_again[spec.id] += 1
        self._again.append(spec)
        return True

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """The callback below tells the dispatcher: it also sees why a worker died."""
        self._running -= 1

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune pickles it for restoring, which we never do: a study resumes from its records

    def save(self, checkpoint_path: str) -> None:
        """Nothing to save, for the same reason."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing to restore."""


class Stopping(FIFOScheduler):
    """Stops Tune's trials where the dispatcher says so; `records` are those of the stopped ones, by Tune's trial."""

    def __init__(self, dispatcher: TrialSource) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self.records: dict[str, Record] = {}

    def on_trial_result(self, tune_controller: Any, trial: RayTrial, result: dict[str, Any]) -> str:
        stopped = result["report"].if_stopped
        if stopped is None or self._dispatcher.goes_on(_spec(trial.config), stopped.history):
            return self.CONTINUE
        self.records[trial.trial_id] = stopped
        return self.STOP

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as for the searcher


class DispatcherCallback(tune.Callback):
    """Tells the dispatcher what happens to Tune's trials.

    error: the first of the driver's own, which ends the run. Tune would take it for the trial's, and try that again.
    """

    def __init__(
        self,
        dispatcher: TrialSource,
        searcher: PlanSearcher,
        stopping: Stopping,
        settings: RunSettings,
        logs: Path | None,
    ) -> None:
        self._dispatcher, self._searcher, self._stopping, self._settings = dispatcher, searcher, stopping, settings
        self._own_logs, self._began, self._has_workers = logs, time.monotonic(), False
        self._last: dict[str, LastReport] = {}  # of running trials
        self._ended: dict[str, Record] = {}
        self.error: Exception | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as for the searcher

    def on_step_begin(self, iteration: int, trials: list[RayTrial], **info: Any) -> None:
        """Tune lets an error through here, before it starts anything else."""
        if self.error is not None:
            raise self.error
        if self._own_logs and not self._has_workers and time.monotonic() - self._began > WORKER_S:
            told = last_words(self._own_logs)
            raise ValueError(f"no worker of Ray has started within {WORKER_S:g} s\n{told}--backend inline needs none")

    def on_trial_start(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        self._has_workers = True
        spec = _spec(trial.config)
        self._last[spec.id] = self._nothing()
        self._dispatcher.started(spec)

    def on_trial_result(
        self, iteration: int, trials: list[RayTrial], trial: RayTrial, result: dict[str, Any], **info: Any
    ) -> None:
        spec = _spec(trial.config)
        report: Report = result.pop("report")  # Tune keeps the last result of every trial
        if report.so_far is not None:
            self._last[spec.id] = LastReport.of(report.so_far)
        if report.record is not None:
            self._ended[trial.trial_id] = report.record
        if report.row is not None:
            self._dispatcher.epoch(spec, report.row)

    def on_trial_complete(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        spec, stopped = _spec(trial.config), self._stopping.records.pop(trial.trial_id, None)
        with self._own_errors():
            if stopped is not None:
                keep_stopped(self._settings.out, stopped)
                self._finished(spec, stopped)
            else:
                record, written = self._ended.pop(trial.trial_id), read_record(self._settings.out, spec.id)
                # Not there, or of an earlier attempt, where the worker was on a machine with a disk of its own.
                if written is None or written.ended_at != record.ended_at:
                    record.save(self._settings.out)
                self._finished(spec, record)

    def on_trial_recover(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        if self.error is None:
            self._record_of_dead_worker(trial)  # the attempt that follows finds it
            self._last.pop(_spec(trial.config).id, None)

    def on_trial_error(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        if self.error is None:
            record, spec = self._record_of_dead_worker(trial), _spec(trial.config)
            # Tune recovers a trial that runs, but not one whose worker, used before, dies when it is to begin.
            if spec.id in self._last or not self._searcher.give_again(spec):
                self._finished(spec, record)

    def _nothing(self) -> LastReport:
        return LastReport(now(), Cost(device_share=self._settings.device_share))

    def _finished(self, spec: TrialSpec, record: Record) -> None:
        self._last.pop(spec.id, None)
        self._dispatcher.finished(spec, record)

    def _record_of_dead_worker(self, trial: RayTrial) -> Record:
        spec = _spec(trial.config)
        last = self._last.get(spec.id) or self._nothing()  # a worker may die before its trial begins
        return record_of_dead_worker(spec, _error_of(trial), self._settings.out, last)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.error = self.error or error
            raise


def _error_of(trial: RayTrial) -> str:
    """What Tune has noted of its errors; `get_error` has it only once it was copied to the storage."""
    noted = trial.error_file
    return Path(noted).read_text() if noted and Path(noted).exists() else "Ray does not say why"


def _spec(config: Mapping[str, Any]) -> TrialSpec:
    return TrialSpec.model_validate_json(config["spec"])
