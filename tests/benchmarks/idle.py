"""A study of as many trials as one likes, none of which does anything: what is left is the runner itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fmim.declare import Arm, Study
from fmim.declare.presets import SMOKE
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim.runner.backends.ray_backend import RayBackend
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.runs import Identity
from fmim.runner.tracking.tracker import Tracker
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.records import EpochRow
from fmim_core.training.evaluation import Seconds
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import Trial
from fmim_spaces.domain import Choice, Space
from tests.support.documents import epoch_row

FOLDS = 5  # as in the paper: 34 configurations are 170 trials


class NoTraining:
    """Has epochs and scores as a training has, and takes no time for them."""

    device, members = None, ()

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
    """Writes a record as a trial does, of a training that did nothing."""

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
    plan, bank, out = idle_plan(trials), idle_bank(folder), folder / "study"
    with tracker(folder) as mirror:
        start = time.perf_counter()
        dispatcher = Dispatcher(plan, bank, out, {}, [mirror])
        replace(backend, trial=IdleTrial).run(dispatcher, out, trials)
        trials_s = time.perf_counter() - start
        assert mirror.settle(3600)
        mirrored_s = time.perf_counter() - start
    assert dispatcher.complete
    return trials_s, mirrored_s


def idle_bank(folder: Path) -> Bank:
    """Images that no one looks at."""
    return build_bank(PhantomSource(SMOKE.phantom), SMOKE.image_size, folder / "banks")


@contextmanager
def tracker(folder: Path) -> Iterator[Tracker]:
    """A mirror that is connected, which takes seconds for its tables, once for each database."""
    mirror = Tracker(TrackingAddress.beside(folder / "study"), Identity("idle", "idle", "smoke"), list)
    assert mirror.settle()
    yield mirror
    assert mirror.close("FINISHED", folder)
