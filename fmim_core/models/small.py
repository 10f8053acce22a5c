"""The small convolutional network, for cohorts and machines of any size."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveInt
from torch import nn

from fmim_core.models.base import BACKBONES, Backbone


@BACKBONES.register
class SmallConvNet(Backbone):
    """An 8×8 conv of stride 4, two 4×4 convs of stride 2, each with batch norm and ReLU; means over a grid; linear.

    A training takes seconds on a CPU core: strides replace pooling (Springenberg et al., ICLR workshop 2015), so
    that no layer computes at the image's full resolution.

    Args:
        grid: the last layer sees the means of grid × grid parts of the image. Radiographs are taken in one position,
            so the place of a feature helps to tell people apart.
    """

    kind: Literal["small"] = "small"
    embedding_dim: PositiveInt = 64
    widths: tuple[PositiveInt, PositiveInt, PositiveInt] = (16, 32, 32)
    grid: PositiveInt = 4

    def build(self, image_size: int) -> nn.Module:
        first, second, third = self.widths
        features = third * self.grid**2
        return nn.Sequential(
            *_block(self.channels, first, kernel=8, stride=4),
            *_block(first, second, kernel=4, stride=2),
            *_block(second, third, kernel=4, stride=2),
            *(nn.AdaptiveAvgPool2d(self.grid), nn.Flatten(), nn.Linear(features, self.embedding_dim)),
        )


def _block(inputs: int, outputs: int, kernel: int, stride: int) -> tuple[nn.Module, ...]:
    """Return layers that make n / stride of a side of n pixels, where the kernel is twice the stride."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=(kernel - stride) // 2, bias=False)
    return convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
