"""The base of backbones: networks that turn images `(B, C, H, W)` into embeddings `(B, D)`, not yet normalised."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

import torch
from pydantic import Field, PositiveInt
from torch import nn

from fmim_core.registry import KindConfig, Registry


class Backbone(KindConfig):
    """A backbone and its settings.

    Args:
        embedding_dim: D.
        channels: C, 1 for grey or 3 for colour images; data sets of colour images set it.
    """

    embedding_dim: PositiveInt
    # Left out where it is as before there was colour, so that fingerprints and records stay what they are.
    channels: Annotated[Literal[1, 3], Field(exclude_if=(1).__eq__)] = 1

    @abstractmethod
    def build(self, image_size: int) -> nn.Module:
        """Return the network for images of that side, with random or pretrained weights; on the meta device too.

        It draws its weights from torch's global generator, and nothing in training.
        """

    @property
    def pretrained(self) -> bool:
        """True where its weights come from another training."""
        return False

    def head(self, network: nn.Module) -> nn.Module:
        """Return the layer that makes the embedding, which may have its own learning rate: the last linear one.

        Raises:
            ValueError: there is none of `embedding_dim` outputs.
        """
        for module in reversed(list(network.modules())):
            if isinstance(module, nn.Linear) and module.out_features == self.embedding_dim:
                return module
        raise ValueError(f"the model {self.kind!r} has no linear layer that makes its embedding: define its `head`")

    def without_weights(self) -> Self:
        """Return the same network without pretrained weights: counting its operations needs no file."""
        return self

    @property
    def given_file(self) -> Path | None:
        """The file that a user gave for its weights, if any: the same path may hold other weights another day."""
        return None

    def weights_sha256(self) -> str | None:
        """Return the SHA-256 (hex) of the file that its weights come from; None where they are random.

        Raises:
            ValueError: there is no such file.
            OSError: published weights cannot be downloaded.
        """
        return None

    @property
    def normalisation(self) -> tuple[float, float] | None:
        """The mean and the standard deviation that its images must be normalised by; None: any."""
        return None

    @property
    def title(self) -> str:
        """Its name in reports."""
        return type(self).__name__


BACKBONES: Registry[Backbone] = Registry("model", "fmim_core.models")
"""All backbones, by kind."""


@cache
def multiply_adds(model: Backbone, image_size: int) -> int:
    """Return the multiply-adds of embedding one image of that side: products of matrices, convolutions and attention.

    They are counted on the meta device, where nothing is computed. Weights change nothing and are not loaded.
    """
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        network = model.without_weights().build(image_size).eval()
        image = torch.empty(1, model.channels, image_size, image_size)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(image)
    return counter.get_total_flops() // 2  # it counts a product and a sum as two
