"""Train and evaluate one embedding model: usable alone, from Python, without Ray or MLflow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from fmim_core.data.bank import Bank, ImageSet
from fmim_core.data.device import DeviceImages
from fmim_core.data.splits import subject_folds
from fmim_core.losses import LossOutput
from fmim_core.metrics import retrieval
from fmim_core.sampler import SubjectSampler
from fmim_core.seeding import derive_seed, scoped_torch_seed, torch_generator
from fmim_core.statistics import StatisticsCollector
from fmim_core.train_config import TrainConfig
from fmim_core.triplets import Similarities, TripletIndex, unit

Row = dict[str, Any]
EVALUATION_BATCH = 256


class Diverged(ArithmeticError):
    """Training left the finite numbers: the message says in which epoch and where."""


@dataclass
class Seconds:
    """Where a training's wall time went; on a GPU `data` is what the host waited for it."""

    data: float = 0.0
    train: float = 0.0
    eval: float = 0.0

    @contextmanager
    def measure(self, part: Literal["data", "train", "eval"]) -> Iterator[None]:
        """Add the block's seconds to a part."""
        start = time.perf_counter()
        yield
        setattr(self, part, getattr(self, part) + time.perf_counter() - start)


@dataclass
class TrainResult:
    """What `train` returns: the kept model (on the CPU), its epoch, validation metrics, and one row per epoch."""

    model: nn.Module
    kept_epoch: int
    validation: dict[str, float] | None
    history: list[Row]
    seconds: Seconds
    warnings: list[str] = field(default_factory=list)


class Training:
    """One training, an epoch at a time: `while not training.done: row = training.run_epoch()`.

    Everything random is derived from (seed, role, epoch), so a run that stops after any epoch and goes on from
    `state()` computes what the uninterrupted run would have.

    Args:
        train, validation: image sets; without a validation set nothing is evaluated during training.
        device: where to train, e.g. `torch.device("cpu")`.

    Raises:
        ValueError: fewer training subjects than a batch needs, or a crop larger than the bank's images.
    """

    def __init__(
        self, config: TrainConfig, train: ImageSet, validation: ImageSet | None, seed: int, device: torch.device
    ) -> None:
        check_crop(config, train)
        self.config, self.device, self._seed = config, device, seed
        self._validation = validation
        per_side = config.identity == "side"
        identities = torch.from_numpy(train.identities(per_side))
        self._sampler = SubjectSampler(identities, config.batches)
        self._images = DeviceImages(train, device)
        self._classes = identities.to(self._images.rows_device)
        self._index = TripletIndex.of(self._sampler.labels().to(device))
        with scoped_torch_seed(seed, "model"):
            self.model = config.model.build(config.augmentation.crop).to(device).to(memory_format=torch.channels_last)
            self._loss = config.loss.build(config.model.embedding_dim, self._sampler.subjects).to(device)
        parameters = [*self.model.parameters(), *self._loss.parameters()]
        self._optimizer = torch.optim.Adam(
            parameters, lr=config.learning_rate, weight_decay=config.weight_decay, fused=device.type == "cuda"
        )
        self._schedule = config.margins.build()
        self._half = config.precision == "bfloat16" or (config.precision == "auto" and device.type == "cuda")
        self.history: list[Row] = []
        self.seconds = Seconds()
        self._kept: dict[str, Any] | None = None
        self.warnings = self._data_warnings()

    def _data_warnings(self) -> list[str]:
        few, wanted = self._sampler.repeating, self.config.batches.images_per_subject
        if not few:
            return []
        return [
            f"{few} of {self._sampler.subjects} training subjects have fewer than {wanted} images: repeated in batches"
        ]

    @property
    def done(self) -> bool:
        """Whether all epochs are run."""
        return len(self.history) >= self.config.epochs

    @property
    def images_seen(self) -> int:
        """Training images shown so far, repeats counted."""
        return len(self.history) * self._sampler.batches_per_epoch * self.config.batches.size

    def run_epoch(self) -> Row:
        """Train one epoch, evaluate, advance the margin schedule; returns the epoch's row of the history.

        Raises:
            Diverged: the loss or a similarity is not finite.
        """
        start = time.perf_counter()
        epoch = len(self.history) + 1
        row: Row = {"epoch": epoch} | self._train_epoch(epoch)
        if self._validation is not None:
            validation = self.evaluate(self._validation)
            row["validation_mAP"] = validation["mAP"]
            self._keep(epoch, validation)
        row["seconds"] = time.perf_counter() - start
        self.history.append(row)
        return row

    def _train_epoch(self, epoch: int) -> Row:
        collector = StatisticsCollector(self.device, self._schedule.needs_values, self.config.histogram_bins)
        with self.seconds.measure("data"):
            generator = torch_generator(self._seed, "augment", epoch, device=self.device)
            batches, seen = self._sampler.epoch(torch_generator(self._seed, "batches", epoch))
        totals = torch.zeros(3, dtype=torch.float64, device=self.device)  # loss, used triplets, empty batches
        self.model.train()
        for positions in batches.to(self._images.rows_device):
            with self.seconds.measure("data"):
                images = self.config.augmentation.train(self._images[positions], generator)
            with self.seconds.measure("train"):
                output = self._step(images, self._classes[positions].to(self.device), collector)
                totals += torch.stack([output.value.detach(), output.used, output.used == 0]).double()
        with self.seconds.measure("train"):
            loss, used, empty = totals.tolist()  # waits for the device
            statistics = collector.finish()
        if not (math.isfinite(loss) and math.isfinite(statistics.phi_an_mean)):
            raise Diverged(f"epoch {epoch}: loss {loss / len(batches)}, mean φ_an {statistics.phi_an_mean}")
        margins = self._schedule.margins  # in force all epoch, or in the last batch of schedules that follow batches
        self._schedule.observe(statistics)
        triplets = len(batches) * int(self._index.negative[self._index.anchor].sum())
        return {
            "loss": loss / len(batches),
            "epsilon": float(margins.epsilon),
            "beta": float(margins.beta) if self.config.loss.uses_beta else math.nan,
            "delta_mean": statistics.delta_mean,
            "phi_an_mean": statistics.phi_an_mean,
            "phi_ap_mean": statistics.phi_ap_mean,
            "selected_share": used / triplets,
            "batches": len(batches),
            "empty_batches": int(empty),
            "subjects_seen_share": seen,
            **statistics.histograms,
        }

    def _step(self, images: Tensor, classes: Tensor, collector: StatisticsCollector) -> LossOutput:
        self._optimizer.zero_grad(set_to_none=True)
        embeddings = unit(self._forward(images))
        batch = Similarities.of(embeddings, self._index, classes)
        output: LossOutput = self._loss(batch, self._schedule.for_batch(batch))
        output.value.backward()
        self._optimizer.step()
        collector.add(batch)
        return output

    def _forward(self, images: Tensor) -> Tensor:
        """Embeddings `(B, D)` in float32, whatever the backbone computes in."""
        images = images.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._half):
            return self.model(images).float()

    @torch.inference_mode()
    def embed(self, images: ImageSet) -> Tensor:
        """Unit embeddings `(n, D)` of all images of a set, centre-cropped, float32, on the device."""
        self.model.eval()
        stored = DeviceImages(images, self.device)
        parts = [
            self._forward(self.config.augmentation.test(stored[start : start + EVALUATION_BATCH]))
            for start in range(0, len(stored), EVALUATION_BATCH)
        ]
        return unit(torch.cat(parts))

    def evaluate(self, images: ImageSet) -> dict[str, float]:
        """Retrieval metrics of a set: gallery = baseline images, queries = later visits, by year and pooled."""
        with self.seconds.measure("eval"):
            embeddings = self.embed(images)
            if not embeddings.isfinite().all():
                raise Diverged(f"epoch {len(self.history) + 1}: embeddings are not finite in evaluation")
            gallery, query = images.gallery_mask, images.query_mask
            identities = images.identities(self.config.identity == "side")
            return retrieval(
                embeddings[torch.from_numpy(query)],
                embeddings[torch.from_numpy(gallery)],
                identities[query],
                identities[gallery],
                query_years=images.years[query],
            )

    def _keep(self, epoch: int, validation: dict[str, float]) -> None:
        best = self._kept is None or validation["mAP"] > self._kept["validation"]["mAP"]
        if self.config.keep == "last" or best:
            weights = self._weights() if self.config.keep == "best" else None
            self._kept = {"epoch": epoch, "validation": validation, "weights": weights}

    def _weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    @property
    def kept(self) -> tuple[int, dict[str, float] | None]:
        """The epoch whose model is kept so far, and its validation metrics if there is a validation set."""
        return (len(self.history), None) if self._kept is None else (self._kept["epoch"], self._kept["validation"])

    def finish(self) -> TrainResult:
        """The kept model after the last epoch; the training's own model becomes the kept one."""
        if self._kept is not None and self._kept["weights"] is not None:
            self.model.load_state_dict(self._kept["weights"])
        return TrainResult(self.model, *self.kept, self.history, self.seconds, self.warnings)

    def state(self) -> dict[str, Any]:
        """Everything needed to go on after this epoch, as tensors and plain values (`torch.load` reads it as it is)."""
        margins = self._schedule.margins
        return {
            "model": self.model.state_dict(),
            "loss": self._loss.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "margins": [float(margins.epsilon), float(margins.beta)],
            "kept": self._kept,
            "history": self.history,
            "seconds": vars(self.seconds),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()` of a training with the same configuration, data and seed."""
        self.model.load_state_dict(state["model"])
        self._loss.load_state_dict(state["loss"])
        self._optimizer.load_state_dict(state["optimizer"])
        epsilon, beta = state["margins"]
        self._schedule.margins = replace(self._schedule.margins, epsilon=epsilon, beta=beta)
        self._kept, self.history = state["kept"], list(state["history"])
        self.seconds = Seconds(**state["seconds"])


def check_crop(config: TrainConfig, images: ImageSet) -> None:
    """Raise a `ValueError` if the crop does not fit the bank's images."""
    size = min(images.images.shape[1:])
    if config.augmentation.crop > size:
        raise ValueError(f"augmentation.crop = {config.augmentation.crop}, but the bank's images have {size} px")


def pick_device(name: str = "auto") -> torch.device:
    """`auto`: the GPU if there is one, else the CPU; anything else as torch names it."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def train(
    config: TrainConfig,
    bank: Bank,
    sink: Callable[[Row], None] = lambda row: None,
    *,
    folds: int | None = None,
    fold: int = 0,
    seed: int = 0,
    device: str = "auto",
) -> TrainResult:
    """Train on a bank's development images: all of them, or all but one of `folds` folds, which then validates.

    Args:
        sink: called with each epoch's row: epoch, loss, margins, mean Δ, φ_an and φ_ap, validation mAP, seconds.
        seed: of everything random; folds depend on it too.
    """
    development, validation = bank.development(), None
    if folds is not None:
        chosen = subject_folds(development, folds, derive_seed(seed, "folds"))[fold]
        development, validation = chosen.train, chosen.validation
    training = Training(config, development, validation, seed, pick_device(device))
    while not training.done:
        sink(training.run_epoch())
    return training.finish()
