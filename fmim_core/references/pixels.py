"""The pixels themselves: cosine similarity of two images' values, with or without subtracting the mean image."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

from fmim_core.data.bank.device import DeviceImages
from fmim_core.data.image_set import ImageSet
from fmim_core.references.base import REFERENCES, Reference
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import EVALUATION_BATCH, Evaluator

SIDES = {1: 64, 3: 32}
"""By channels: larger images are averaged to this side, since scores of 26,000 images of 256 × 256 would take 14 GB."""


class Values(nn.Module):
    """Images `(B, C, H, W)` → their pixels `(B, D)`, D ≤ 64², less a mean `(D,)`.

    Of larger images they are the means of parts of equal size.
    """

    def __init__(self, mean: Tensor | float = 0.0) -> None:
        super().__init__()
        self._mean = mean

    def forward(self, images: Tensor) -> Tensor:
        """Return the pixels, row by row."""
        return adaptive_avg_pool2d(images, min(SIDES[images.shape[1]], *images.shape[2:])).flatten(1) - self._mean


@REFERENCES.register
class Pixels(Reference):
    """φ of two images is the cosine similarity of their grey or colour values in [0, 1], within the centre crop."""

    kind: Literal["pixels"] = "pixels"
    depends_on = ("augmentation.crop", "identity")

    def label(self, config: TrainConfig) -> str:
        return "Raw pixels"

    def about(self, config: TrainConfig) -> str:
        values = "grey values" if config.model.channels == 1 else "red, green and blue values"
        return f"cosine similarity of {values}, {_size(config)}"

    def evaluator(self, config: TrainConfig, development: ImageSet, seed: int, device: torch.device) -> Evaluator:
        return Evaluator(_plain(config), Values(), device)


@REFERENCES.register
class PixelsLessMean(Reference):
    """φ of two images is the cosine similarity of their values minus the mean of all development images.

    The mean dominates the cosine similarity of raw values. Test images do not contribute to the mean.
    """

    kind: Literal["pixels_less_mean"] = "pixels_less_mean"
    depends_on = ("augmentation.crop", "identity")

    def label(self, config: TrainConfig) -> str:
        return "Pixels less the mean image"

    def about(self, config: TrainConfig) -> str:
        return f"cosine similarity after subtracting the mean development image, {_size(config)}"

    @torch.no_grad()
    def evaluator(self, config: TrainConfig, development: ImageSet, seed: int, device: torch.device) -> Evaluator:
        plain, pixels = _plain(config), Values()
        stored = DeviceImages(development, device, resident=False)
        batches = stored.batches(torch.arange(len(stored)), EVALUATION_BATCH)
        sums = [pixels(plain.augmentation.test(batch)).double().sum(dim=0) for batch in batches]
        return Evaluator(plain, Values((torch.stack(sums).sum(dim=0) / len(stored)).float()), device)


def _plain(config: TrainConfig) -> TrainConfig:
    """Return the configuration without normalisation: the values of its evaluation crops are in [0, 1]."""
    augmentation = config.augmentation.model_copy(update={"mean": 0.0, "std": 1.0})
    return config.model_copy(update={"augmentation": augmentation})


def _size(config: TrainConfig) -> str:
    """Return the number of pixels that are compared, in words."""
    crop, side = config.augmentation.crop, min(SIDES[config.model.channels], config.augmentation.crop)
    return f"{side} × {side} pixels" + (f" (means of {crop} × {crop})" if crop > side else "")
