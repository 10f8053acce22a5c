"""The small convolutional network, for cohorts and machines of any size."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from fmim_core.models.base import BACKBONES, Backbone


@BACKBONES.register
class SmallConvNet(Backbone):
    """Four blocks of 3×3 conv, 2×2 max pooling, batch norm and ReLU, then means over a grid and a linear layer.

    Seconds per training on a CPU core: pooling comes before the norm, which then has a quarter of the pixels to do.

    Args:
        grid: the last layer sees the means of grid × grid parts of the image: radiographs are taken in one position,
            so where something is tells people apart.
    """

    kind: Literal["small"] = "small"
    embedding_dim: PositiveInt = 64
    widths: tuple[PositiveInt, PositiveInt, PositiveInt, PositiveInt] = (8, 16, 32, 32)
    grid: PositiveInt = 4

    def build(self, image_size: int) -> nn.Module:
        blocks: list[nn.Module] = []
        for inputs, outputs in pairwise((1, *self.widths)):
            blocks += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), HalvingPool(2)]
            blocks += [nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
        features = self.widths[-1] * self.grid**2
        head = [nn.AdaptiveAvgPool2d(self.grid), nn.Flatten(), nn.Linear(features, self.embedding_dim)]
        return nn.Sequential(*blocks, *head)


class HalvingPool(nn.MaxPool2d):
    """2×2 max pooling; without gradients, where nobody asks which was the largest, in half the time on a CPU."""

    def forward(self, images: Tensor) -> Tensor:
        """`(B, C, H, W)` → `(B, C, H/2, W/2)`, rounded down."""
        if torch.is_grad_enabled():
            return super().forward(images)
        height, width = (side // 2 * 2 for side in images.shape[2:])
        top, bottom = images[..., 0:height:2, :width], images[..., 1:height:2, :width]
        rows = torch.maximum(top, bottom)
        return torch.maximum(rows[..., 0::2], rows[..., 1::2])
