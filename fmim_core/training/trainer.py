"""Train and evaluate one embedding model: usable from Python on its own, without Ray or MLflow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import torch
from torch import nn

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.device import DeviceImages
from fmim_core.data.image_set import ImageSet
from fmim_core.data.splits import subject_folds
from fmim_core.records import EpochRow
from fmim_core.seeding import derive_seed, torch_generator
from fmim_core.training.config import TrainConfig
from fmim_core.training.device import float32_defined
from fmim_core.training.evaluation import Diverged, Evaluator, Seconds
from fmim_core.training.fit_trainer import FitTrainer
from fmim_core.training.sampler import SubjectSampler
from fmim_core.training.step import TrainingStep
from fmim_core.triplets.statistics import StatisticsCollector


@dataclass
class TrainResult:
    """The outcome of `train`: the kept model, its epoch, validation metrics, and one row per epoch."""

    model: nn.Module
    kept_epoch: int
    validation: dict[str, float] | None
    history: list[EpochRow]
    seconds: Seconds
    warnings: list[str] = field(default_factory=list)


class Trainer(Protocol):
    """What a `Training` trains with, an epoch at a time: nothing else knows how.

    model: images as `Evaluator` has them → embeddings; the same object all along.
    """

    warnings: list[str]

    @property
    def model(self) -> nn.Module: ...

    def epoch(self, number: int, seconds: Seconds) -> dict[str, Any]:
        """Train epoch 1, 2, …; return what its row of the history says of it. Raises `Diverged`."""

    def state(self) -> dict[str, Any]:
        """Return all that is needed to go on after this epoch, as plain values and tensors."""

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""


class Training(Evaluator):
    """One training, an epoch at a time: `while not training.done: row = training.run_epoch()`.

    Everything random is derived from (seed, role, epoch), so a run that stops after any epoch and resumes from
    `state()` computes what the uninterrupted run would have.

    Args:
        train, validation: image sets; without a validation set nothing is evaluated during training.
        device: where to train, e.g. `torch.device("cpu")`.

    Raises:
        ValueError: the best epoch is to be kept but there is no validation set, fewer training subjects than a batch
            needs, a crop larger than the bank's images, or a step that cannot be compiled as configured on this device.
    """

    def __init__(
        self, config: TrainConfig, train: ImageSet, validation: ImageSet | None, seed: int, device: torch.device
    ) -> None:
        if config.keep != "last" and validation is None:
            raise ValueError(
                f"keep = {config.keep!r} needs a validation set, to know the best epoch: give one, or keep 'last'"
            )
        begin = StepTrainer if config.trainer is None else FitTrainer
        self._trainer: Trainer = begin(config, train, seed, device)
        super().__init__(config, self._trainer.model, device)
        self.warnings = self._trainer.warnings
        self._validation = validation
        self._validation_images = None if validation is None else DeviceImages(validation, device)
        self._kept: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        return len(self.history) >= self.config.epochs

    def run_epoch(self) -> EpochRow:
        """Train one epoch, advance the margin schedule, validate if it is due; return the epoch's row of the history.

        Raises:
            Diverged: the loss or a similarity is not finite.
        """
        start = time.perf_counter()
        epoch = len(self.history) + 1
        with float32_defined(self.config.precision):
            trained = self._trainer.epoch(epoch, self.seconds)
        validated: dict[str, float] = {}
        if self._validation is not None and self.config.validates(epoch):
            embeddings = self.embed(self._validation)
            validation = self.scores(self._validation, embeddings).means()
            validated["validation_mAP"] = decides = validation["mAP"]
            if self.config.keep == "best_all_pairs":
                every = self.scores(self._validation.all_pairs, embeddings).means()
                validated["all_pairs_mAP"] = decides = every["mAP"]
            self._keep(epoch, validation, decides)
        row = EpochRow(epoch=epoch, **trained, **validated, seconds=time.perf_counter() - start)
        self.history.append(row)
        return row

    def _on_device(self, images: ImageSet) -> DeviceImages:
        found = self._validation_images if images is self._validation else None
        return super()._on_device(images) if found is None else found

    def _keep(self, epoch: int, validation: dict[str, float], decides: float) -> None:
        last = self.config.keep == "last"
        if last or self._kept is None or decides > self._kept["decides"]:
            state = None if last else self.model.state_dict()
            weights = deepcopy(state)
            self._kept = {"epoch": epoch, "validation": validation, "decides": decides, "weights": weights}

    @property
    def kept(self) -> tuple[int, dict[str, float] | None]:
        return (len(self.history), None) if self._kept is None else (self._kept["epoch"], self._kept["validation"])

    def finish(self) -> nn.Module:
        if self._kept is not None and self._kept["weights"] is not None:
            self.model.load_state_dict(self._kept["weights"])
        return self.model

    def state(self) -> dict[str, Any]:
        return {
            **self._trainer.state(),
            "kept": self._kept,
            "history": [row.model_dump(mode="json") for row in self.history],
            "seconds": vars(self.seconds) | {"startup": 0.0},  # whoever goes on compiles anew
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self._trainer.load_state(state)
        kept, self.history = state["kept"], [EpochRow.model_validate(row) for row in state["history"]]
        self._kept = kept and {"decides": kept["validation"]["mAP"]} | kept  # nothing else did in older checkpoints
        self.seconds = Seconds(**(state["seconds"] | {"startup": 0.0}))  # that of before is in the cost already


class StepTrainer:
    """Trains by `TrainingStep`, with batches of S subjects × M images. Raises as `Training`."""

    def __init__(self, config: TrainConfig, train: ImageSet, seed: int, device: torch.device) -> None:
        check_images(config, train)
        self._config, self._seed, self._device = config, seed, device
        identities = torch.from_numpy(train.identities(config.identity == "side"))
        self._sampler = SubjectSampler(identities, config.batches)
        self._step = TrainingStep(config, self._sampler, seed, device)
        self.model = self._step.model
        self._images, self._classes = DeviceImages(train, device), identities.to(device)
        self.warnings: list[str] = []
        if few := self._sampler.repeating:
            wanted = f"fewer than {config.batches.images_per_subject} images: repeated in batches"
            self.warnings = [f"{few} of {self._sampler.subjects} training subjects have {wanted}"]

    def epoch(self, number: int, seconds: Seconds) -> dict[str, Any]:
        schedule, index = self._step.schedule, self._step.index
        collector = StatisticsCollector(self._device, schedule.needs_values, self._config.histogram_bins)
        with seconds.measure("data"):
            positions, seen = self._sampler.epoch(torch_generator(self._seed, "batches", number))
            classes = self._classes[positions.to(self._device)]
        fetch = partial(self._images.batches, positions.flatten(), self._config.batches.size)
        if number == 1 and schedule.measures_first:
            with seconds.measure("train"):
                self._step.measure_first(zip(fetch(), classes, strict=True))
        batches = fetch()
        totals = torch.zeros(3, dtype=torch.float64, device=self._device)  # loss, active triplets, empty batches
        self._step.begin_epoch(number)
        for labels in classes:  # nothing in this loop waits for the device
            with seconds.measure("data"):
                stored = next(batches)
            with seconds.measure("startup" if self._step.starting else "train"):
                (loss, active), batch = self._step(stored, labels)
                collector.add(batch)
                totals += torch.stack([loss, active, active == 0]).double()
        with seconds.measure("train"):
            total, active, empty = totals.tolist()  # waits for the device
            statistics = collector.finish()
        if not (math.isfinite(total) and math.isfinite(statistics.phi_an_mean)):
            raise Diverged(f"epoch {number}: loss {total / len(classes)}, mean φ_an {statistics.phi_an_mean}")
        margins = self._step.end_epoch()
        schedule.observe(number, statistics)
        return {
            "loss": total / len(classes),
            "epsilon": margins.epsilon,
            "beta": margins.beta if self._config.loss.uses_beta else math.nan,
            "delta_mean": statistics.delta_mean,
            "phi_an_mean": statistics.phi_an_mean,
            "phi_ap_mean": statistics.phi_ap_mean,
            "active_share": active / (len(classes) * index.triplets),
            "batches": len(classes),
            "empty_batches": int(empty),
            "subjects_seen_share": seen,
            "learning_rate": self._step.learning_rate,
            **statistics.histograms,
        }

    def state(self) -> dict[str, Any]:
        return self._step.state()

    def load_state(self, state: dict[str, Any]) -> None:
        self._step.load_state(state)


def check_images(config: TrainConfig, images: ImageSet) -> None:
    """Raise a `ValueError` if the crop, or the model's channels, do not fit the bank's images."""
    _, size, _, *colours = images.images.shape
    if config.augmentation.crop > size:
        raise ValueError(f"augmentation.crop = {config.augmentation.crop}, but the bank's images have {size} px")
    channels = colours[0] if colours else 1
    if config.model.channels != channels:
        raise ValueError(
            f"model.channels = {config.model.channels}, but the bank's images have {channels}: the data set says how "
            "many (a table by channels = 1 or 3 in its TOML file), so leave it out of the study"
        )


def pick_device(name: str = "auto") -> torch.device:
    """Return the device of that name in torch; `auto` is the GPU if there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def train(
    config: TrainConfig,
    bank: Bank,
    sink: Callable[[EpochRow], None] = lambda row: None,
    *,
    folds: int | None = None,
    fold: int = 0,
    seed: int = 0,
    device: str = "auto",
) -> TrainResult:
    """Train on a bank's development images: all of them, or all but one of `folds` folds, which then validates.

    Args:
        sink: called with each epoch's row: epoch, loss, margins, mean Δ, φ_an and φ_ap, validation mAP, seconds.
        seed: the seed of everything random, also of the folds.
    """
    development, validation = bank.development(), None
    if folds is not None:
        chosen = subject_folds(development, folds, derive_seed(seed, "folds"))[fold]
        development, validation = chosen.train, chosen.validation
    training = Training(config, development, validation, seed, pick_device(device))
    while not training.done:
        sink(training.run_epoch())
    return TrainResult(training.finish(), *training.kept, training.history, training.seconds, training.warnings)
