"""Backbones that turn grey images `(B, 1, H, W)` into embeddings `(B, D)`, not yet normalised.

To add one: a `Config` with a `kind`, `embedding_dim` and a `build`, and its line in `ModelConfig`.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, PositiveInt
from torch import nn

from fmim_core.config import Config


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

    def build(self) -> nn.Module:
        blocks: list[nn.Module] = []
        for inputs, outputs in pairwise((1, *self.widths)):
            blocks += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.MaxPool2d(2)]
            blocks += [nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
        features = self.widths[-1] * self.grid**2
        head = [nn.AdaptiveAvgPool2d(self.grid), nn.Flatten(), nn.Linear(features, self.embedding_dim)]
        return nn.Sequential(*blocks, *head)


class ResNet18(Config):
    """torchvision's ResNet-18 with one input channel and a linear embedding instead of the classifier.

    Args:
        weights: `none` (random), `imagenet` (torchvision downloads them once), or the path of a file with a
            torchvision ResNet-18 state dict. The first layer's three colour kernels are summed, which computes
            what the pretrained network does with three equal channels.
    """

    kind: Literal["resnet18"] = "resnet18"
    embedding_dim: PositiveInt = 128
    weights: str = "none"

    def build(self) -> nn.Module:
        from torchvision.models import ResNet18_Weights, resnet18

        if self.weights == "imagenet":
            network = resnet18(weights=ResNet18_Weights.IMAGENET1K_V1)
        else:
            network = resnet18()
            if self.weights != "none":
                network.load_state_dict(_read_state_dict(self.weights))
        network.conv1 = _grey_input(network.conv1)
        network.fc = nn.Linear(network.fc.in_features, self.embedding_dim)
        return network


def _read_state_dict(path: str) -> dict[str, torch.Tensor]:
    if not Path(path).is_file():
        raise ValueError(f"model.weights = {path!r}: allowed are 'none', 'imagenet' or an existing weights file")
    return torch.load(path, map_location="cpu", weights_only=True)


def _grey_input(first: nn.Conv2d) -> nn.Conv2d:
    grey = nn.Conv2d(1, first.out_channels, 7, stride=2, padding=3, bias=False)
    with torch.no_grad():
        grey.weight.copy_(first.weight.sum(dim=1, keepdim=True))
    return grey


ModelConfig = Annotated[SmallConvNet | ResNet18, Field(discriminator="kind")]
