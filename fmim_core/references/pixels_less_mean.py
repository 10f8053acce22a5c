"""The pixels less what all images have in common, which cosine similarity of grey values mostly sees."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from fmim_core.data.bank.device import DeviceImages
from fmim_core.data.image_set import ImageSet
from fmim_core.references.base import REFERENCES, Reference
from fmim_core.references.pixels import GreyValues, in_grey, size
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import EVALUATION_BATCH, Evaluator


class LessMean(nn.Module):
    """Grey images `(B, 1, H, W)` → their pixels less a mean `(D,)`."""

    def __init__(self, mean: Tensor) -> None:
        super().__init__()
        self._mean, self._pixels = mean, GreyValues()

    def forward(self, images: Tensor) -> Tensor:
        """x − mean, row by row."""
        pixels: Tensor = self._pixels(images)
        return pixels - self._mean


@REFERENCES.register
class PixelsLessMean(Reference):
    """φ of two images is the cosine similarity of their grey values less the mean of all development images.

    Of the test images nothing is used for it.
    """

    kind: Literal["pixels_less_mean"] = "pixels_less_mean"
    depends_on = ("augmentation.crop", "identity")

    def label(self, config: TrainConfig) -> str:
        return "Pixels less the mean image"

    def about(self, config: TrainConfig) -> str:
        return f"as raw pixels, less the mean image of the development images, {size(config)}"

    def evaluator(self, config: TrainConfig, development: ImageSet, seed: int, device: torch.device) -> Evaluator:
        grey = in_grey(config)
        return Evaluator(grey, LessMean(mean_pixels(grey, development, device)), device)


@torch.no_grad()
def mean_pixels(config: TrainConfig, images: ImageSet, device: torch.device) -> Tensor:
    """The mean `(D,)` of the pixels of a set's centre crops, summed in float64."""
    stored, pixels = DeviceImages(images, device, resident=False), GreyValues()
    batches = stored.batches(torch.arange(len(stored)), EVALUATION_BATCH)
    sums = [pixels(config.augmentation.test(batch)).double().sum(dim=0) for batch in batches]
    return (torch.stack(sums).sum(dim=0) / len(stored)).float()
