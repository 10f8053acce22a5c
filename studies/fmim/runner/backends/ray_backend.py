"""The Ray backend: one Tuner whose searcher hands out the plan; actors are reused from trial to trial."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.experiment import Trial as RayTrial
from ray.tune.search import Searcher

from fmim.own.study_file import run_code
from fmim.runner.backends.backend import Backend, Resources, TrialSource, allot
from fmim.runner.backends.dead_workers import nothing_heard, record_of_dead_worker
from fmim.runner.backends.ray_cluster import RayCluster
from fmim.runner.backends.ray_nodes import WORKER_S, check_on_nodes, check_workers, last_words, resources_of_nodes
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Code, EpochRow, Record, SoFar, read_record
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, keep_stopped

RETRIES = 3  # of a trial whose worker or node died, from its checkpoint; errors inside a training are never retried


@dataclass(frozen=True)
class RayBackend(Backend):
    """Trials in the workers of a Ray cluster.

    logs: the folder of the cluster's logs on this machine.
    code: the study's own files, which every worker runs before its first trial; this process has run them.
    """

    logs: Path
    code: Code | None = None
    trial: type[Trial] = Trial

    @classmethod
    def of(cls, cluster: RayCluster, asked: Resources, code: Code | None = None) -> RayBackend:
        """Return that of a cluster, as soon as it is there.

        Raises:
            ValueError: it is not, has not what a trial asks for, or its workers cannot run this program.
        """
        logs = cluster.logs
        found = cls(*allot(asked, resources_of_nodes()), logs, code)
        if cluster.address is not None:  # elsewhere may be another Python, or none of this program
            check_workers(__name__, logs)
        return found

    def check(self, bank: Bank) -> None:
        """Check the bank on each node."""
        check_on_nodes(bank)

    def run(self, trials: TrialSource, out: Path, number: int) -> None:
        """Run all trials.

        An error in the driver's part, such as a full disk, ends it and is raised; so does it where no worker has
        started in `WORKER_S`.
        """
        os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(self.slots)  # enough to keep every slot busy, no further ahead
        settings = self.settings(out)
        given = {"trial": self.trial, "settings": settings, "threads": self.threads, "code": self.code}
        driver = Driver(trials, settings, self.logs)
        with tempfile.TemporaryDirectory(prefix="tune-", dir=self.logs.parent) as storage:  # which nobody reads
            tune.Tuner(
                tune.with_resources(
                    tune.with_parameters(StudyTrainable, **given),
                    tune.PlacementGroupFactory([{"CPU": self.cpus, "GPU": self.gpus}]),
                ),
                tune_config=tune.TuneConfig(
                    search_alg=PlanSearcher(driver),
                    num_samples=number * (1 + RETRIES),  # some may be given again
                    reuse_actors=True,
                    trial_dirname_creator=lambda trial: trial.trial_id,
                ),
                run_config=tune.RunConfig(
                    name="study",
                    storage_path=storage,
                    verbose=0,
                    stop=driver.stops,
                    failure_config=tune.FailureConfig(max_failures=RETRIES),
                    checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
                    callbacks=[driver],
                ),
            ).fit()


@dataclass(frozen=True)
class Report:
    """The report of a worker after each epoch.

    It is one object, since Tune takes mappings apart and keeps moving averages of every number in them.

    row: of the epoch. record: at the end of the trial. so_far: before, what is to be kept of it if the worker dies.
    if_stopped: its record if its search stops it now.
    """

    row: EpochRow | None
    record: Record | None
    so_far: SoFar | None
    if_stopped: Record | None


class StudyTrainable(tune.Trainable):
    """One trial after the other in a reused worker process; a step is an epoch."""

    def setup(  # type: ignore[override]
        self, config: dict[str, Any], trial: type[Trial], settings: RunSettings, threads: int, code: Code | None
    ) -> None:
        import torch

        if code is not None:
            run_code(code, settings.out / "code")
        torch.set_num_threads(threads)
        self._of, self._settings = trial, settings
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self._trial = self._of(TrialSpec.model_validate_json(new_config["spec"]), self._settings)
        return True

    def step(self) -> dict[str, Any]:
        trial = self._trial
        row = trial.step()
        so_far = None if trial.over else trial.so_far
        if_stopped = trial.stopped() if trial.spec.rungs and not trial.over else None
        return {"report": Report(row, trial.record, so_far, if_stopped), "done": trial.over}


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

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing."""


@dataclass
class Given:
    """A trial that Tune has.

    so_far: the last that was heard of it, and when; None until it begins. ended: its record, as soon as it is over.
    """

    spec: TrialSpec
    so_far: SoFar | None = None
    heard_at: float = 0.0
    ended: Record | None = None

    def heard(self, so_far: SoFar) -> None:
        """Take note of what is known of it now."""
        self.so_far, self.heard_at = so_far, time.monotonic()


class Driver(tune.Callback):
    """Hands the source's trials to Tune, and tells it what happens to them."""

    def __init__(self, source: TrialSource, settings: RunSettings, logs: Path) -> None:
        self._source, self._settings, self._logs = source, settings, logs
        self._given: dict[str, Given] = {}  # by Tune's id
        self._again, self._given_again = deque[TrialSpec](), Counter[str]()
        self._began, self._has_workers = time.monotonic(), False
        self._error: Exception | None = None

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

    def on_step_begin(self, iteration: int, trials: list[RayTrial], **info: Any) -> None:
        """Raise what ends the run: Tune lets an error through here, before it starts anything else.

        An error of the driver's own it would take for the trial's, and try that again.
        """
        if self._error is not None:
            raise self._error
        if not self._has_workers and time.monotonic() - self._began > WORKER_S:
            told = last_words(self._logs)
            raise ValueError(f"no worker of Ray has started within {WORKER_S:g} s\n{told}--backend inline needs none")

    def on_trial_start(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        self._has_workers = True
        given = self._given[trial.trial_id]
        given.heard(self._nothing(given.spec))
        self._source.started(given.spec)

    def on_trial_result(
        self, iteration: int, trials: list[RayTrial], trial: RayTrial, result: dict[str, Any], **info: Any
    ) -> None:
        given, report = self._given[trial.trial_id], result.pop("report")  # Tune keeps the last result of every trial
        if report.so_far is not None:
            given.heard(report.so_far)
        given.ended = report.record or given.ended
        if report.row is not None:
            self._source.epoch(given.spec, report.row)

    def on_trial_complete(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        out = self._settings.out
        with self._own_errors():
            given = self._given.pop(trial.trial_id)
            record, written = given.ended, read_record(out, given.spec.id)
            assert record is not None
            if record.status == "stopped":
                keep_stopped(out, record)
            # Not there, or of an earlier attempt, where the worker was on a machine with a disk of its own.
            elif written is None or written.ended_at != record.ended_at:
                record.save(out)
            self._source.finished(given.spec, record)

    def on_trial_recover(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        if self._error is None:
            self._record_of_dead_worker(trial)  # the attempt that follows finds it
            self._given[trial.trial_id].so_far = None

    def on_trial_error(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        if self._error is None:
            record, given = self._record_of_dead_worker(trial), self._given.pop(trial.trial_id)
            # Tune recovers a trial that runs, but not one whose worker, used before, dies when it is to begin.
            if given.so_far is None and self._given_again[given.spec.id] < RETRIES:
                self._given_again[given.spec.id] += 1
                self._again.append(given.spec)
            else:
                self._source.finished(given.spec, record)

    def _nothing(self, spec: TrialSpec) -> SoFar:
        return nothing_heard(spec, self._settings.out, self._settings.device_share)

    def _record_of_dead_worker(self, trial: RayTrial) -> Record:
        given = self._given[trial.trial_id]
        silent_s = time.monotonic() - given.heard_at if given.so_far else 0.0
        so_far = given.so_far or self._nothing(given.spec)  # a worker may die before its trial begins
        return record_of_dead_worker(given.spec, _error_of(trial), self._settings.out, so_far, silent_s)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._error = self._error or error
            raise


def _error_of(trial: RayTrial) -> str:
    """Return what Tune has noted of a trial's errors; `get_error` has it only once it was copied to the storage."""
    noted = trial.error_file
    return Path(noted).read_text() if noted and Path(noted).exists() else "Ray does not say why"
