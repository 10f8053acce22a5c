"""Times a few steps of every training of a plan here, by real but short trials, as many at once as there will be."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean

from fmim.plan import Plan
from fmim.runner.backends.backend import Backend, TrialObserver
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.runs import Identity
from fmim.runner.tracking.tracker import Tracker
from fmim_core.data.bank.bank import Bank
from fmim_core.data.image_set import ImageSet
from fmim_core.data.splits import subject_folds
from fmim_core.records import EpochRow, Record, TrialError
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import EVALUATION_BATCH
from fmim_core.trial.spec import TrialSpec, folds_seed

MEASURED_S = 4.0  # of each training, after the first epoch; at least one epoch of one step
MAX_EPOCHS = 5
MIN_EVALUATION_BATCHES = 4  # of fewer, what each evaluation takes besides counts too much
SUBJECTS_IN_FOLD = 4  # so that each of many folds can be evaluated


@dataclass(frozen=True)
class Timing:
    """Seconds of one training while all slots are busy.

    Args:
        startup: from nothing to the first epoch, and what that takes longer than others.
        step: a batch of an epoch that is not the first, data and training.
        image: embedding one image in evaluation.
        between: an epoch, outside training and evaluation: reporting, waiting for the runner.
        peak_memory: bytes.
    """

    startup: float
    step: float
    image: float
    between: float
    peak_memory: float


@dataclass(frozen=True)
class Calibration:
    """The measurements: each training by `training_key`, and the seconds that the runner adds to trials.

    Args:
        around: before the first trial and after the last.
        first: what a slot's first trial takes longer, since everything is loaded then. gap: between two trials of it.
        trials: how many were run for it.
    """

    timings: dict[str, Timing]
    around: float
    first: float
    gap: float
    trials: int


def training_key(config: TrainConfig) -> str:
    """Return what decides the cost of a step; trainings that differ in values alone have one key."""
    of_values = {"loss", "margins", "epochs", "validate_every", "learning_rate", "weight_decay", "keep"}
    shape = config.model_dump_json(exclude=of_values | {"optimizer", "lr_schedule"})
    ours = f"{config.loss.kind}, {config.margins.kind}, {config.model.kind}"
    return f"{config.trainer.kind if config.trainer else ours}: {shape}"


def calibrate(plan: Plan, images: ImageSet, bank: Bank, backend: Backend) -> Calibration:
    """Run the short trials on development images, in a folder that is gone afterwards.

    They are mirrored to an MLflow database there, since in a run that takes its share of the CPU, too.

    Raises:
        ValueError: one of them failed, as the study's would.
    """
    with tempfile.TemporaryDirectory(prefix="fmim-calibrate-") as folder:
        out = Path(folder) / "study"
        tracker = Tracker(TrackingAddress.beside(out), Identity("calibration", "calibration", plan.preset.name), list)
        try:
            tracker.settle()
            probes = Probes(plan, images, bank, backend.slots, tracker)
            begun = time.time()
            backend.run(probes, Path(folder), probes.number)
            ended = time.time()
        finally:
            tracker.close("FINISHED", out)
    records = [*probes.warm_up, *(record for found in probes.measured.values() for record in found)]
    for record in records:
        if record.status != "completed":
            error = record.error or TrialError()
            raise ValueError(f"a short trial of {record.arm} failed: {error.kind}: {error.message}")
    timings = {
        key: _mean([timing_of(one, probes.validated) for one in found]) for key, found in probes.measured.items()
    }
    cold = fmean(timing_of(record, probes.validated).startup for record in probes.warm_up)
    starts = sorted(record.began for record in records)
    ends = sorted(datetime.fromisoformat(record.ended_at).timestamp() for record in records)
    # Which slot a trial ran on is not known, but the sum of all gaps does not depend on it.
    gaps = [start - end for start, end in zip(starts[backend.slots :], ends, strict=False)]
    return Calibration(
        timings=timings,
        around=max(0.0, starts[0] - begun) + max(0.0, ended - ends[-1]),
        first=max(0.0, cold - fmean(timing.startup for timing in timings.values())),
        gap=max(0.0, fmean(gaps)),
        trials=len(records),
    )


class Probes:
    """Hands out the short trials: one to warm up each slot, then every training, until all slots have had as many.

    A probe trains like a search trial, never on the test set. Where folds are large they are made smaller, so that a
    probe does not spend its time on evaluation. Its number of steps follows from what the warm-up took. The first that
    fails ends them.
    """

    def __init__(self, plan: Plan, images: ImageSet, bank: Bank, slots: int, observer: TrialObserver) -> None:
        trainings: dict[str, TrialSpec] = {}
        for arm, configuration in plan.study.corners():
            spec = plan.search(arm, 0, configuration, bank)[0]
            trainings.setdefault(training_key(spec.train), spec)
        self._trainings, self._slots, self._observer = list(trainings.values()), slots, observer
        per_side = self._trainings[0].train.identity == "side"
        evaluable = len(set(images.subjects[images.matched_query_mask(per_side)]))
        most = min(len(images) // (MIN_EVALUATION_BATCHES * EVALUATION_BATCH), evaluable // SUBJECTS_IN_FOLD)
        self._folds = max(plan.preset.folds, most)
        fold = subject_folds(images, self._folds, folds_seed(plan.seed, 0), per_side)[0]
        self._trained, self.validated = len(fold.train), len(fold.validation)
        self.number = slots * (1 + math.ceil(len(self._trainings) / slots))
        self._begun = 0
        self._size: tuple[int, int] | None = None  # batches of an epoch if it has so many, epochs
        self.warm_up: list[Record] = []
        self.measured: dict[str, list[Record]] = {key: [] for key in trainings}

    @property
    def exhausted(self) -> bool:
        """Return whether no probe is left."""
        return self._begun == self.number

    def next(self) -> TrialSpec | None:
        """Return the next probe; None while the warm-up is running."""
        number, warms_up = self._begun, self._begun < self._slots
        if self.exhausted or (not warms_up and self._size is None):
            return None
        self._begun += 1
        training = self._training(number)
        most, epochs = (1, 2) if warms_up or self._size is None else self._size
        per_epoch = min(most, training.train.batches.in_epoch(self._trained))
        few = training.train.batches.model_copy(update={"per_epoch": per_epoch})
        train = training.train.model_copy(update={"batches": few, "epochs": epochs, "validate_every": 1})
        return training.model_copy(update={"number": number, "train": train, "folds": self._folds, "rungs": ()})

    def _training(self, number: int) -> TrialSpec:
        return self._trainings[max(0, number - self._slots) % len(self._trainings)]

    def started(self, spec: TrialSpec) -> None:
        """Tell the observer."""
        self._observer.started(spec)

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """Tell the observer."""
        self._observer.epoch(spec, row)

    def goes_on(self, spec: TrialSpec, history: Sequence[EpochRow]) -> bool:
        """Let every probe go on."""
        return True

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """Keep the record, and size the other probes by the first of the warm-up."""
        self._observer.finished(spec, record)
        train = self._training(spec.number).train
        (self.warm_up if spec.number < self._slots else self.measured[training_key(train)]).append(record)
        if record.status != "completed":
            self._begun = self.number
        elif self._size is None:
            timing = timing_of(record, self.validated)
            batches = max(1, int(MEASURED_S / timing.step))
            steps = min(batches, train.batches.in_epoch(self._trained))
            epoch = steps * timing.step + self.validated * timing.image
            self._size = batches, 1 + min(MAX_EPOCHS, max(1, round(MEASURED_S / epoch)))


def timing_of(record: Record, validated: int) -> Timing:
    """Return what one probe says, which has validated on so many images."""
    cost, rows = record.cost, record.history
    evaluation = cost.eval_s / len(rows)
    later = fmean(row.seconds for row in rows[1:])
    return Timing(
        startup=cost.startup_s + max(0.0, rows[0].seconds - later),
        step=max(1e-6, (later - evaluation) / rows[0].batches),
        image=evaluation / validated,
        between=max(0.0, (cost.wall_s - cost.parts_s) / len(rows)),
        peak_memory=record.peak_memory or 0,
    )


def _mean(timings: Sequence[Timing]) -> Timing:
    values = [asdict(timing) for timing in timings]
    mean = {name: fmean(value[name] for value in values) for name in values[0]}
    return Timing(**mean | {"peak_memory": max(timing.peak_memory for timing in timings)})
