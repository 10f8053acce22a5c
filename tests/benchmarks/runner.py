"""What the runner takes for trials that do nothing, records and MLflow included, beside a plain Ray Tuner."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from fmim.runner.backends.backend import Resources
from fmim.runner.backends.ray_backend import RayBackend
from fmim.runner.backends.ray_cluster import cluster_for
from tests.benchmarks.idle import run_idle
from tests.benchmarks.measurement import Measurement

# isort: split
# Ray reads settings that `fmim.runner.backends` makes when it is imported.
from ray import tune

TRIALS = 170
PER_TRIAL_S = 0.1
"""What is asked: seconds for each trial beyond its training."""


def measure(device: torch.device, trials: int = TRIALS) -> Iterator[Measurement]:
    """Nothing on a GPU: idle trials have no use for it."""
    if device.type == "cpu":
        resources = Resources(1.0, 0.0)
        with cluster_for("ray", None) as cluster:
            assert cluster is not None
            backend = RayBackend.of(cluster, resources)
            yield from _compare(trials, backend)


def _compare(trials: int, backend: RayBackend) -> Iterator[Measurement]:
    what = f"each of {trials} trials that do nothing, in {backend.slots} slots"
    with tempfile.TemporaryDirectory(prefix="fmim-idle-") as folder:
        until_records, until_mirrored = run_idle(trials, Path(folder), backend)
    ours, note = until_mirrored / trials, f"{until_records / trials:.3f} s until the records are there, the rest MLflow"
    yield Measurement("runner", what, ours, "0.1 s", PER_TRIAL_S, 1.0, note)
    for name, reuse, some in (("reusing its workers", True, trials), ("as it is by itself", False, trials // 5)):
        theirs = plain_tuner(some, backend.cpus, reuse) / some
        yield Measurement("runner", "  the same", ours, f"a plain Ray Tuner, {name}, of {some}", theirs)


def plain_tuner(trials: int, cpus: float, reuse: bool) -> float:
    """Seconds of a Tuner with trials that do nothing, and no records but its own."""
    with tempfile.TemporaryDirectory(prefix="fmim-tune-") as folder:
        tuner = tune.Tuner(
            tune.with_resources(_idle_trainable(), {"cpu": cpus}),
            param_space={"number": tune.grid_search(list(range(trials)))},
            tune_config=tune.TuneConfig(reuse_actors=reuse),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        start = time.perf_counter()
        results = tuner.fit()
        seconds = time.perf_counter() - start
        assert results.num_terminated == trials
    return seconds


def _idle_trainable() -> type[tune.Trainable]:
    """A trial of one step; made here, so that its workers get it by value and import nothing of ours."""

    class Idle(tune.Trainable):
        def setup(self, config: dict[str, Any]) -> None:
            pass

        def reset_config(self, new_config: dict[str, Any]) -> bool:
            return True

        def step(self) -> dict[str, Any]:
            return {"mAP": self.config["number"] / 1e5, "done": True}

        def save_checkpoint(self, checkpoint_dir: str) -> None:
            pass

    return Idle
