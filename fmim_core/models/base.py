"""What a backbone is: a network that turns grey images `(B, 1, H, W)` into embeddings `(B, D)`, not yet normalised."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import Self

import torch
from pydantic import PositiveInt
from torch import nn

from fmim_core.registry import KindConfig, Registry


class Backbone(KindConfig):
    """A backbone and its settings.

    Args:
        embedding_dim: D.
    """

    embedding_dim: PositiveInt

    @abstractmethod
    def build(self, image_size: int) -> nn.Module:
        """The network for images of that side, with random or pretrained weights; on the meta device too.

        It draws its weights from torch's global generator, and nothing in training.
        """

    @property
    def pretrained(self) -> bool:
        """Whether its weights come from another training."""
        return False

    def without_weights(self) -> Self:
        """The same network without pretrained weights, which counting its operations needs no file for."""
        return self


BACKBONES: Registry[Backbone] = Registry("model", "fmim_core.models")
"""The backbones there are, by kind."""


@cache
def multiply_adds(model: Backbone, image_size: int) -> int:
    """Multiply-adds of embedding one image of that side: products of matrices, convolutions and attention alone.

    They are counted on the meta device, where nothing is computed. Weights change nothing and are not loaded.
    """
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        network = model.without_weights().build(image_size).eval()
        image = torch.empty(1, 1, image_size, image_size)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(image)
    return counter.get_total_flops() // 2  # it counts a product and a sum as two
