"""The Ray backend: one Tuner whose searcher hands out the plan; actors are reused from trial to trial."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Read when Ray is imported or starts: no log files of Tune's own (the records are ours), no experiment snapshots
# (the records are what a study resumes from), and Ctrl-C reaches us as everywhere else.
TUNE_ENVIRONMENT = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_THRESHOLD_S": "10",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "1",
}
os.environ.update({name: os.environ.get(name, value) for name, value in TUNE_ENVIRONMENT.items()})

import ray  # noqa: E402
from ray import tune  # noqa: E402
from ray.tune.experiment import Trial as RayTrial  # noqa: E402
from ray.tune.schedulers import FIFOScheduler  # noqa: E402
from ray.tune.search import Searcher  # noqa: E402

from fmim_core.cost import cut_off, earlier_attempts, no_cost  # noqa: E402
from fmim_core.records import FINAL, Record, now, read_json, record_path, write_json  # noqa: E402
from fmim_core.trial import Place, Trial, TrialSpec, blank_record, keep_stopped  # noqa: E402
from studies.runner.dispatch import TrialSource  # noqa: E402

RETRIES = 1  # of a trial whose worker process died; errors inside a training are never retried


@dataclass(frozen=True)
class Resources:
    """What each trial asks for. gpus: a fraction shares a GPU between trials; memory is not limited by it."""

    cpus: float = 1.0
    gpus: float | None = None


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """A Ray cluster for the block: the one at `address`, or one on this machine.

    Raises:
        ValueError: there is none at that address.
    """
    options: dict[str, Any] = {"address": address} if address else {"include_dashboard": False}
    try:
        _knock(address)
        ray.init(logging_level=logging.ERROR, log_to_driver=False, **options)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"no Ray cluster can be reached at --address {address}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str | None) -> None:
    """Raise an `OSError` at once where nobody listens at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def allot(asked: Resources) -> tuple[Resources, int]:
    """The resources of each trial in the running cluster, and how many trials run at once.

    Where nothing is said of GPUs, each trial gets one if there are any, else none.

    Raises:
        ValueError: no node can run even one trial; names what was asked for and what there is.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    available = {kind: sum(node.get(kind, 0.0) for node in nodes) for kind in ("CPU", "GPU")}
    gpus = asked.gpus if asked.gpus is not None else float(available["GPU"] > 0)
    slots = sum(_slots(node, asked.cpus, gpus) for node in nodes)
    if slots == 0:
        raise ValueError(
            f"each trial asks for {asked.cpus:g} CPU and {gpus:g} GPU (--cpus-per-trial, --gpus-per-trial), "
            f"but {len(nodes)} node(s) have {available['CPU']:g} CPU and {available['GPU']:g} GPU: ask for less"
        )
    return Resources(asked.cpus, gpus), slots


def _slots(node: dict[str, float], cpus: float, gpus: float) -> int:
    """Trials that fit on a node; a fraction of a GPU is always of one GPU, so 0.15 fits six times on each."""
    by_cpu = int(node.get("CPU", 0.0) / cpus + 1e-9)
    if gpus == 0:
        return by_cpu
    count = int(node.get("GPU", 0.0))
    by_gpu = count * int(1 / gpus + 1e-9) if gpus < 1 else int(count / gpus + 1e-9)
    return min(by_cpu, by_gpu)


def run_ray(dispatcher: TrialSource, place: Place, resources: Resources, slots: int, trials: int) -> None:
    """Run everything the dispatcher hands out, `slots` trials at once. An interrupt passes through."""
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(slots)  # enough to keep every slot busy, no further ahead
    trainable = tune.with_resources(
        tune.with_parameters(StudyTrainable, place=place, threads=max(1, int(resources.cpus))),
        tune.PlacementGroupFactory([{"CPU": resources.cpus, "GPU": resources.gpus or 0.0}]),
    )
    stopping = Stopping(dispatcher)
    with tempfile.TemporaryDirectory(prefix="fmim-tune-") as scratch:
        tuner = tune.Tuner(
            trainable,
            tune_config=tune.TuneConfig(
                search_alg=PlanSearcher(dispatcher),
                scheduler=stopping,
                num_samples=trials,
                reuse_actors=True,
                trial_dirname_creator=lambda trial: trial.trial_id,
            ),
            run_config=tune.RunConfig(
                name="study",
                storage_path=scratch,
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=RETRIES),
                checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False),
                callbacks=[DispatcherCallback(dispatcher, stopping, place)],
            ),
        )
        tuner.fit()


class StudyTrainable(tune.Trainable):
    """One trial after the other in a reused worker process; a step is an epoch."""

    def setup(self, config: dict[str, Any], place: Place, threads: int) -> None:  # type: ignore[override]
        import torch

        torch.set_num_threads(threads)
        self._place = place
        self._begin(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self._begin(new_config)
        return True

    def _begin(self, config: dict[str, Any]) -> None:
        self._trial = Trial(TrialSpec.model_validate(config["spec"]), self._place)

    def step(self) -> dict[str, Any]:
        row = self._trial.step()
        stoppable = self._trial.spec.rungs and not self._trial.over
        # In lists, since Tune would take mappings apart.
        return {
            "row": row,
            "record": self._trial.record,
            "so_far": [] if self._trial.over else [self._trial.so_far],
            "if_stopped": [self._trial.stopped()] if stoppable else [],
            "done": self._trial.over,
        }


class PlanSearcher(Searcher):
    """Gives Tune the dispatcher's trials; it searches nothing itself."""

    def __init__(self, dispatcher: TrialSource) -> None:
        super().__init__(metric="done", mode="max")
        self._dispatcher = dispatcher

    def suggest(self, trial_id: str) -> Any:
        spec = self._dispatcher.next()
        if spec is not None:
            return {"spec": spec.model_dump(mode="json")}
        return Searcher.FINISHED if self._dispatcher.exhausted else None

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """The callback below tells the dispatcher: it also sees why a worker died."""

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
        for so_far in result["if_stopped"]:
            if not self._dispatcher.goes_on(_spec(trial), so_far["history"]):
                self.records[trial.trial_id] = so_far
                return self.STOP
        return self.CONTINUE

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as for the searcher


@dataclass(frozen=True)
class Heard:
    """The last that was heard of a running trial: its start, cost and earlier attempts, and when that was."""

    so_far: dict[str, Any]
    at: float = field(default_factory=time.monotonic)


class DispatcherCallback(tune.Callback):
    """Tells the dispatcher what happens to Tune's trials."""

    def __init__(self, dispatcher: TrialSource, stopping: Stopping, place: Place) -> None:
        self._dispatcher, self._stopping, self._place = dispatcher, stopping, place
        self._heard: dict[str, Heard] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {}  # as for the searcher

    def on_trial_start(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        spec = _spec(trial)
        self._heard[spec.id] = Heard(
            {"started_at": now(), "cost": no_cost() | {"device_share": self._place.device_share}}
        )
        self._dispatcher.started(spec)

    def on_trial_result(
        self, iteration: int, trials: list[RayTrial], trial: RayTrial, result: dict[str, Any], **info: Any
    ) -> None:
        spec = _spec(trial)
        for so_far in result["so_far"]:
            self._heard[spec.id] = Heard(so_far)
        if result.get("row") is not None:
            self._dispatcher.epoch(spec, result["row"])

    def on_trial_complete(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        spec, record = _spec(trial), self._stopping.records.pop(trial.trial_id, None)
        if record is not None:
            keep_stopped(self._place.out, record)
        else:
            record, path = trial.last_result["record"], record_path(self._place.out, spec.id)
            # Not there, or of an earlier attempt, where the worker was on a machine with a disk of its own.
            if not path.exists() or read_json(path)["ended_at"] != record["ended_at"]:
                write_json(path, record)
        self._dispatcher.finished(spec, record)

    def on_trial_recover(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        self._record_of_dead_worker(trial)  # the attempt that follows finds it

    def on_trial_error(self, iteration: int, trials: list[RayTrial], trial: RayTrial, **info: Any) -> None:
        self._dispatcher.finished(_spec(trial), self._record_of_dead_worker(trial))

    def _record_of_dead_worker(self, trial: RayTrial) -> Record:
        spec = _spec(trial)
        return record_of_dead_worker(spec, str(trial.get_error()), self._place.out, self._heard[spec.id])


def _spec(trial: RayTrial) -> TrialSpec:
    return TrialSpec.model_validate(trial.config["spec"])


def record_of_dead_worker(spec: TrialSpec, error: str, out: Path, heard: Heard) -> Record:
    """The record of a trial that could not write its own; one that it did write just before stands."""
    path = record_path(out, spec.id)
    written = read_json(path) if path.exists() else None
    if written and written["status"] in FINAL:
        return dict(written)
    memory = "OutOfMemory" in error or "running low on memory" in error
    kind = "out of memory" if memory else "worker died"
    record = blank_record(spec, now()) | {"attempts": earlier_attempts(written, spec.fingerprint)} | heard.so_far
    record["cost"] = cut_off(record["cost"], time.monotonic() - heard.at)
    record["error"] = {"kind": kind, "message": error.strip()[:2000], "traceback": error}
    write_json(path, record)
    return record
