"""The pixels themselves: cosine similarity of two images' grey values."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

from fmim_core.data.image_set import ImageSet
from fmim_core.references.base import REFERENCES, Reference
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import Evaluator

SIDE = 64
"""Larger images are averaged to this side: the scores of 26,000 images of 256 × 256 pixels would take 14 GB."""


class GreyValues(nn.Module):
    """Grey images `(B, 1, H, W)` → their pixels `(B, D)`, D ≤ 64²; of larger images means of parts of equal size."""

    def forward(self, images: Tensor) -> Tensor:
        """The pixels, row by row."""
        return adaptive_avg_pool2d(images, min(SIDE, *images.shape[2:])).flatten(1)


def in_grey(config: TrainConfig) -> TrainConfig:
    """The configuration without normalisation: its evaluation crops are grey values in [0, 1]."""
    augmentation = config.augmentation.model_copy(update={"mean": 0.0, "std": 1.0})
    return config.model_copy(update={"augmentation": augmentation})


@REFERENCES.register
class Pixels(Reference):
    """φ of two images is the cosine similarity of their grey values in [0, 1], within the centre crop."""

    kind: Literal["pixels"] = "pixels"
    depends_on = ("augmentation.crop", "identity")

    def label(self, config: TrainConfig) -> str:
        return "Raw pixels"

    def about(self, config: TrainConfig) -> str:
        return f"cosine similarity of grey values, {size(config)}"

    def evaluator(self, config: TrainConfig, development: ImageSet, seed: int, device: torch.device) -> Evaluator:
        return Evaluator(in_grey(config), GreyValues(), device)


def size(config: TrainConfig) -> str:
    """How many pixels are compared."""
    crop, side = config.augmentation.crop, min(SIDE, config.augmentation.crop)
    return f"{side} × {side} pixels" + (f" (means of {crop} × {crop})" if crop > side else "")
