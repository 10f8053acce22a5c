"""A user's own trainer at work in a training, and its rehearsal on random images."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fmim_core.data.image_set import ImageSet
from fmim_core.seeding import derive_seed, scoped_torch_seed
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import Diverged, Evaluator, Seconds
from fmim_core.training.own import TrainImages, place_of

PEOPLE, OF_EACH = 32, 4  # images of the rehearsal: enough for a batch of the paper's
APART = 0.05  # the most between two embeddings of an image, which have length 1, whatever the precision
UNKNOWN = ("epsilon", "beta", "delta_mean", "phi_an_mean", "phi_ap_mean", "active_share", "subjects_seen_share")


class FitTrainer:
    """Trains by the `fit` of a user's own trainer: an epoch is its work until the next yield."""

    def __init__(self, config: TrainConfig, train: ImageSet, seed: int, device: torch.device) -> None:
        assert config.trainer is not None
        self._own, self._epochs, self._seed = config.trainer, config.epochs, seed
        self.warnings: list[str] = []
        with _seeded(seed, "model"):
            self.model = self._own.build(config.augmentation.crop)
        self._images = TrainImages(train, config.identity == "side", device)
        self._rows: Iterator[Any] | None = None

    def epoch(self, number: int, seconds: Seconds) -> dict[str, Any]:
        fit, ended = self.model.trainer.fit, object()
        with seconds.measure("train"), _seeded(self._seed, "epoch", number):
            if self._rows is None:
                self._rows = fit(self._own.config(self._epochs), self._images, self._seed)
            row = next(self._rows, ended) if isinstance(self._rows, Iterator) else [self._rows]
        if row is ended:
            raise ValueError(
                f"{place_of(fit)} ended before epoch {number} of {self._epochs}: it must yield a row after each; a "
                "field `epochs` of its Config says how many"
            )
        if not isinstance(row, Mapping) or not all(isinstance(one, str) for one in row):
            raise ValueError(
                f"{place_of(fit)} must yield, not return, numbers by name after each epoch, as {{'loss': 0.1}}: {row!r}"
            )
        found = {name: float(value) for name, value in row.items()}
        loss = found.pop("loss", math.nan)
        if "loss" in row and not math.isfinite(loss):
            raise Diverged(f"epoch {number}: loss {loss}")
        own = {"loss": loss, "batches": len(self._images), "empty_batches": 0, "own": found or None}
        return own | dict.fromkeys(UNKNOWN, math.nan)

    def state(self) -> dict[str, Any]:
        return {"own": self.model.get_extra_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.model.set_extra_state(state["own"])


@contextmanager
def _seeded(*parts: object) -> Iterator[None]:
    """Seed the global generators, which code of anybody's may draw from, for the block only."""
    of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(derive_seed(*parts) % 2**32)  # noqa: NPY002
    random.seed(derive_seed(*parts))
    try:
        with scoped_torch_seed(*parts):
            yield
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)


def rehearse_trainer(config: TrainConfig, development: ImageSet, resume: bool) -> None:
    """Have a user's own trainer train on random images for an epoch, and embed them.

    With `resume` it trains for another one, too, and once more from its state before that, or, where it has none,
    without embedding anything in between.

    Raises:
        ValueError: it fails, yields no rows, embeds what is no `(N, D)` of finite numbers or an image otherwise beside
            others, or goes on otherwise.
    """
    images, device, saved = _random_images(development), torch.device("cpu"), io.BytesIO()

    def embedded(trainer: FitTrainer, epoch: int = 0) -> Tensor:
        if epoch:
            trainer.epoch(epoch, Seconds())
        evaluator = Evaluator(config, trainer.model, device)
        found, alone = evaluator.embed(images), evaluator.embed(images.select(np.arange(OF_EACH)))
        if not found.isfinite().all():
            raise ValueError(f"{place_of(trainer.model.trainer.embed)} returned numbers that are not finite")
        if (found[:OF_EACH] - alone).norm(dim=1).max() > APART:
            raise ValueError(
                f"{place_of(trainer.model.trainer.embed)} embeds an image differently beside other images, or at "
                "random: call eval() on the network first"
            )
        return found

    try:
        alone, other = (FitTrainer(config, images, 0, device) for _ in range(2))
        first = embedded(alone, 1)
        if not (resume and config.epochs > 1):
            return
        if config.resumable:
            torch.save(alone.state(), saved)
            saved.seek(0)
        undisturbed = first, embedded(alone, 2)
        if config.resumable:
            other.load_state(torch.load(saved, weights_only=True))
            again = embedded(other), embedded(other, 2)
        else:
            other.epoch(1, Seconds())
            again = first, embedded(other, 2)
    except (ValueError, Diverged) as error:
        raise ValueError(str(error)) from error
    except Exception as error:  # of anybody's code
        raise ValueError(f"{config.trainer!r} fails on random images: {type(error).__name__}: {error}") from error
    if all(torch.allclose(*both, rtol=1e-3, atol=1e-4) for both in zip(undisturbed, again, strict=True)):
        return
    own, each = other.model.trainer, "draw from (seed, epoch), and call train() again in each epoch"
    if config.resumable:
        raise ValueError(
            f"{place_of(own.load_state)}: a fit resumed from state() differs from an undisturbed one: keep everything "
            f"that an epoch changes in the state, {each}; or leave both methods out, so that trainings start again"
        )
    raise ValueError(f"{place_of(own.fit)} trains differently with the same seed, or after embedding images: {each}")


def _random_images(like: ImageSet) -> ImageSet:
    number = PEOPLE * OF_EACH
    pixels = np.random.default_rng(0).integers(0, 256, (number, *like.images.shape[1:]), dtype=np.uint8)
    people, blank = np.repeat([str(one) for one in range(PEOPLE)], OF_EACH), np.full(number, "")
    known = replace(like, subjects=people, sides=blank, roles=blank, months=np.zeros(number))
    return replace(known, images=pixels, rows=np.arange(number))
