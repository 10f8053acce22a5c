"""What the runner takes for trials that do nothing: records and MLflow included, beside a plain Ray Tuner."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fmim_core.data.building import build_bank
from fmim_core.data.phantom import PhantomSource
from fmim_core.trainer import Row, Seconds, TrainResult
from fmim_core.trial import Place, Trial
from search_spaces.domain import Choice, Space
from studies.declare import Arm, Study
from studies.plan import Plan
from studies.presets import SMOKE
from studies.runner.cluster import Resources, allot, cluster
from studies.runner.dispatch import Dispatcher
from studies.runner.mlflow_runs import Identity
from studies.runner.ray_backend import run_ray
from studies.runner.tracker import Tracker

FOLDS = 5


class NoTraining:
    """Stands in for a training: epochs that take no time, and scores."""

    device = None

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs
        self.history: list[Row] = []
        self.seconds, self.warnings, self.images_seen = Seconds(), [], 0
        self.kept = (epochs, {"mAP": 0.5, "mAP@R": 0.4, "CMC@1": 0.5})

    @property
    def done(self) -> bool:
        return len(self.history) >= self._epochs

    def run_epoch(self) -> Row:
        row = {"epoch": len(self.history) + 1, "loss": 0.1, "validation_mAP": 0.5}
        self.history.append(row)
        return row

    def finish(self) -> Any:
        return TrainResult(None, *self.kept, self.history, self.seconds)


class IdleTrial(Trial):
    def _start(self) -> Any:
        self._meter.ready()
        return NoTraining(self.spec.train.epochs)


def idle_plan(trials: int, epochs: int = 1) -> Plan:
    values = tuple(n / trials for n in range(trials // FOLDS))
    arm = Arm(
        name="triplet_grid",
        loss="Triplet",
        search="Grid search",
        settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
        space=Space(choices=(Choice(path="margins.epsilon", values=values),)),
    )
    preset = SMOKE.model_copy(update={"folds": FOLDS})
    study = Study(name="idle", title="Idle", question="?", presets=(preset,), arms=(arm,))
    return Plan(study, preset, 0, 0, epochs)


@dataclass
class Clock:
    at: list[float] = field(default_factory=list)
    mib: list[float] = field(default_factory=list)

    def started(self, spec):
        pass

    def epoch(self, spec, row):
        pass

    def finished(self, spec, record):
        self.at.append(time.perf_counter())
        if len(self.at) % 50 == 0:
            self.mib.append(rss())


def rss() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 2**10


def main(trials: int, epochs: int = 1, mlflow: bool = True) -> None:
    with tempfile.TemporaryDirectory() as folder, cluster(None):
        folder = Path(folder)
        plan = idle_plan(trials, epochs)
        bank = build_bank(PhantomSource(SMOKE.phantom), SMOKE.image_size, folder / "banks")
        resources, slots = allot(Resources(1.0, 0.0))
        out = folder / "out"
        out.mkdir()
        t0 = time.perf_counter()
        clock = Clock()
        observers = [clock]
        if mlflow:
            tracker = Tracker(f"sqlite:///{folder}/mlflow.db", Identity("idle", "x", "smoke"), [])
            observers.append(tracker)
            tracker.settle()
            print("connected", time.perf_counter() - t0)
        t0 = time.perf_counter()
        before = rss()
        dispatcher = Dispatcher(plan, bank, out, {}, observers)
        print("dispatcher", time.perf_counter() - t0, "rss", rss() - before)
        place = Place(out, "cpu")
        run_ray(dispatcher, place, resources, slots, plan.trials, IdleTrial)
        t1 = time.perf_counter()
        print("ray done", t1 - t0, (t1 - t0) / trials)
        if mlflow:
            tracker.settle(3600)
            t2 = time.perf_counter()
            print("mirror done", t2 - t0, (t2 - t0) / trials)
            print(tracker.close("FINISHED", []))
        n = len(clock.at)
        print("first finish", clock.at[0] - t0, "last", clock.at[-1] - t0)
        k = max(10, n // 10)
        for i in range(0, n - k + 1, k):
            print(i, f"{(clock.at[i + k - 1] - clock.at[i]) / (k - 1):.4f}")
        print("rss", before, [round(m) for m in clock.mib[:: max(1, len(clock.mib) // 10)]], rss())


if __name__ == "__main__":
    import sys

    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "mlflow")
