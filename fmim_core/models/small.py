"""Backbones that turn grey images `(B, 1, H, W)` into embeddings `(B, D)`, not yet normalised.

The small net is here, torchvision's are in `backbones.py`. To add one: a `Config` with a `kind`, `embedding_dim` and
a `build` that is told the side of the images and works on the meta device too, and its line in `ModelConfig`.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Annotated, Literal

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from fmim_core.config import Config
from fmim_core.models.torchvision_models import ConvNeXtTiny, ResNet18, ResNet50, ViTSmall


class SmallConvNet(Config):
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


ModelConfig = Annotated[SmallConvNet | ResNet18 | ResNet50 | ConvNeXtTiny | ViTSmall, Field(discriminator="kind")]


@cache
def multiply_adds(model: ModelConfig, image_size: int) -> int:
    """Multiply-adds of embedding one image of that side: products of matrices, convolutions and attention alone.

    They are counted on the meta device, where nothing is computed. Weights change nothing and are not loaded.
    """
    from torch.utils.flop_counter import FlopCounterMode

    if hasattr(model, "weights"):
        model = model.model_copy(update={"weights": "none"})
    with torch.device("meta"):
        network, image = model.build(image_size).eval(), torch.empty(1, 1, image_size, image_size)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(image)
    return counter.get_total_flops() // 2  # it counts a product and a sum as two
