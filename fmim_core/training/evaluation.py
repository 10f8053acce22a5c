"""Evaluate a network: embed the images of a set, and score how well queries find the images of their identity."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from fmim_core.data.bank.device import DeviceImages
from fmim_core.data.image_set import ImageSet
from fmim_core.metrics import QueryScores, score_queries
from fmim_core.records import EpochRow, Member
from fmim_core.training.config import TrainConfig
from fmim_core.training.device import embeddings_of, float32_defined
from fmim_core.triplets.similarities import unit

EVALUATION_BATCH = 256
CPU_EVALUATION_BATCH = 64
"""This number fits a CPU's cache, is fastest, and gives the same bits as larger batches; smaller ones do not."""


class Diverged(ArithmeticError):
    """Training left the finite numbers: the message says in which epoch and where."""


@dataclass
class Seconds:
    """The parts of a training's wall time.

    data: drawing batches and waiting for their images; train: everything that a step computes, augmentation too;
    startup: the first steps of a compiled training. A GPU works on by itself: what the host waits for it is in `train`.
    """

    data: float = 0.0
    train: float = 0.0
    eval: float = 0.0
    startup: float = 0.0

    @contextmanager
    def measure(self, part: Literal["data", "train", "eval", "startup"]) -> Iterator[None]:
        """Add the block's seconds to a part."""
        start = time.perf_counter()
        yield
        setattr(self, part, getattr(self, part) + time.perf_counter() - start)


class Evaluator:
    """A network as it is: nothing is left to train. `Training` is one whose network changes epoch by epoch.

    Args:
        config: its centre crop, normalisation, precision and identity are used.
        model: images `(B, C, crop, crop)` → embeddings `(B, D)`, not yet normalised; on `device`.
    """

    def __init__(self, config: TrainConfig, model: nn.Module, device: torch.device) -> None:
        self.config, self.model, self.device = config, model, device
        self.history: list[EpochRow] = []
        self.seconds = Seconds()
        self.warnings: list[str] = []

    @property
    def done(self) -> bool:
        """True as soon as all epochs are run."""
        return True

    @property
    def members(self) -> tuple[Member, ...]:
        """The models that it is made of, where these are several."""
        return ()

    @property
    def kept(self) -> tuple[int | None, dict[str, float] | None]:
        """The epoch whose model is kept so far, and its validation metrics if there is a validation set."""
        return None, None

    @property
    def rows(self) -> list[EpochRow]:
        """The epochs trained so far, of all members."""
        return [row for member in self.members for row in member.history] or self.history

    def run_epoch(self) -> EpochRow:
        """Train one epoch, and return its row of the history."""
        raise NotImplementedError

    def finish(self) -> nn.Module:
        """Return the kept model after the last epoch; the training's own model becomes the kept one."""
        return self.model

    def state(self) -> dict[str, Any]:
        """Return all that is needed to go on after this epoch, as plain values and tensors, for `torch.load`."""
        raise NotImplementedError

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()` of a training with the same configuration, data and seed."""
        raise NotImplementedError

    @torch.no_grad()  # not inference mode: the thread that fetches images could not write to memory made in it
    def embed(self, images: ImageSet) -> Tensor:
        """Return unit embeddings `(n, D)` of all images of a set, centre-cropped, float32, on the device."""
        with self.seconds.measure("eval"), float32_defined(self.config.precision):
            self.model.eval()
            stored = self._on_device(images)
            batches = stored.batches(torch.arange(len(stored)), EVALUATION_BATCH)
            at_once = CPU_EVALUATION_BATCH if self.device.type == "cpu" else EVALUATION_BATCH
            parts = (part for batch in batches for part in batch.tensor_split(max(1, len(batch) // at_once)))
            crops = map(self.config.augmentation.test, parts)
            return unit(torch.cat([embeddings_of(self.model, crop, self.config.precision) for crop in crops]))

    def _on_device(self, images: ImageSet) -> DeviceImages:
        return DeviceImages(images, self.device, resident=False)

    def evaluate(self, images: ImageSet) -> dict[str, float]:
        """Return retrieval metrics of a set's queries in its gallery (`ImageSet.roles`), by time and pooled."""
        return self.scores(images, self.embed(images)).means()

    def scores(self, images: ImageSet, embeddings: Tensor, find_first: bool = False) -> QueryScores:
        """Return what each query of a set finds by embeddings `(n, D)` of all its images; see `score_queries`."""
        with self.seconds.measure("eval"):
            if not embeddings.isfinite().all():
                raise Diverged(f"epoch {len(self.history) + 1}: embeddings are not finite in evaluation")
            gallery, query = images.gallery_mask, images.query_mask
            identities = images.identities(self.config.identity == "side")
            return score_queries(
                embeddings[torch.from_numpy(query)],
                embeddings[torch.from_numpy(gallery)],
                identities[query],
                identities[gallery],
                query_years=images.times[query],
                same_set=images.same_set,
                find_first=find_first,
                interval=images.interval,
            )
