"""What the runner takes for trials that do nothing, records and MLflow included, beside a plain Ray Tuner."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from fmim.declare import Arm, Study
from fmim.declare.presets import SMOKE
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim.runner.backends.ray_backend import RayBackend
from fmim.runner.backends.ray_cluster import cluster_for
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.runs import Identity
from fmim.runner.tracking.tracker import Tracker
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.records import EpochRow
from fmim_core.training.evaluation import Seconds
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import Trial
from fmim_spaces.domain import Choice, Space
from tests.benchmarks.measurement import Measurement
from tests.support.documents import epoch_row

# isort: split
# Ray reads settings that `fmim.runner.backends` makes when it is imported.
from ray import tune

TRIALS = 170
PER_TRIAL_S = 0.1
"""What is asked: seconds for each trial beyond its training."""
FOLDS = 5  # as in the paper: 34 configurations are 170 trials


def measure(device: torch.device, trials: int = TRIALS) -> Iterator[Measurement]:
    """Nothing on a GPU: idle trials have no use for it."""
    if device.type == "cpu":
        with cluster_for("ray", None) as cluster:
            assert cluster is not None
            yield from _compare(trials, RayBackend.of(cluster, 1.0, 0.0))


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


class NoTraining:
    """A training with epochs and scores that takes no time for them."""

    device, members, resumable = None, (), True

    def __init__(self, spec: TrialSpec) -> None:
        self.config, self._epochs = spec.train, spec.train.epochs
        self._scores = dict.fromkeys(("mAP", "mAP_at_R", "CMC_1", "mAP/year_1", "mAP/year_2"), spec.number / 1e5)
        self.history: list[EpochRow] = []
        self.rows = self.history
        self.warnings: list[str] = []
        self.seconds = Seconds()

    @property
    def done(self) -> bool:
        return len(self.history) == self._epochs

    def run_epoch(self) -> EpochRow:
        epoch = len(self.history) + 1
        self.history.append(epoch_row(epoch, validation_mAP=self._scores["mAP"]))
        return self.history[-1]

    @property
    def kept(self) -> tuple[int, dict[str, float]]:
        return self._epochs, self._scores

    def finish(self) -> Any:
        return None


class IdleTrial(Trial):
    """A trial that writes the record of a training that did nothing."""

    def _start(self) -> Any:
        self._meter.ready()
        return NoTraining(self.spec)


def idle_plan(trials: int) -> Plan:
    """Search trials alone, of one epoch each."""
    values = tuple(number / trials for number in range(trials // FOLDS))
    arm = Arm(
        name="triplet_grid",
        search="Grid search",
        settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
        space=Space(choices=(Choice(path="margins.epsilon", values=values),)),
    )
    preset = SMOKE.model_copy(update={"folds": FOLDS})
    study = Study(
        name="idle", title="Idle trials", question="What does the runner take?", presets=(preset,), arms=(arm,)
    )
    return Plan(study, with_changes(preset, [("epochs", 1)]), seed=0, replicates=0)


def run_idle(trials: int, folder: Path, backend: RayBackend) -> tuple[float, float]:
    """Run them on the cluster that is up, records and a sqlite MLflow in `folder`.

    Return the seconds from the dispatcher's start to the last record, and to its run in MLflow.
    """
    out, bank = folder / "study", build_bank(PhantomSource(SMOKE.phantom), SMOKE.image_size, folder / "banks")
    mirror = Tracker(TrackingAddress.beside(out), Identity("idle", "idle", "smoke"), list)
    assert mirror.settle()  # connected, which takes seconds for its tables, once for each database
    start = time.perf_counter()
    dispatcher = Dispatcher(idle_plan(trials), bank, out, {}, [mirror])
    replace(backend, trial=IdleTrial).run(dispatcher, out, trials)
    trials_s = time.perf_counter() - start
    assert mirror.settle(3600)
    mirrored_s = time.perf_counter() - start
    assert mirror.close("FINISHED", folder)
    assert dispatcher.complete
    return trials_s, mirrored_s
