"""What torchvision's backbones share: their weights, and a first layer for one input channel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from pydantic import PositiveInt
from torch import nn

from fmim_core.models.base import Backbone


class TorchvisionBackbone(Backbone):
    """A network of torchvision with its weights.

    Args:
        weights: `none` (random), `imagenet` (torchvision downloads them once), or the path of a file with a
            torchvision state dict of the same network. The first layer's three colour kernels are summed, which
            computes what the pretrained network does with three equal channels.
    """

    embedding_dim: PositiveInt = 128
    weights: str = "none"

    def load(self, network: nn.Module, imagenet: Any) -> nn.Module:
        """The network with its weights; `imagenet` is torchvision's, or None where it has none.

        Raises:
            ValueError: weights that are neither known nor a file.
        """
        if self.weights == "imagenet" and imagenet is not None:
            network.load_state_dict(imagenet.get_state_dict(progress=False))
        elif self.weights != "none":
            network.load_state_dict(self._read())
        return network

    def _read(self) -> dict[str, torch.Tensor]:
        if not Path(self.weights).is_file():
            raise ValueError(
                f"model.weights = {self.weights!r} for {type(self).__name__}: allowed are 'none', an existing weights "
                "file, and 'imagenet' where torchvision has such weights"
            )
        return torch.load(self.weights, map_location="cpu", weights_only=True)

    @property
    def pretrained(self) -> bool:
        return self.weights != "none"

    def without_weights(self) -> Self:
        return self.model_copy(update={"weights": "none"})


def grey_input(first: nn.Conv2d) -> nn.Conv2d:
    """The first layer for one channel, its kernels the sums of the three colour kernels."""
    grey = nn.Conv2d(
        1,
        first.out_channels,
        first.kernel_size,  # type: ignore[arg-type]
        stride=first.stride,  # type: ignore[arg-type]
        padding=first.padding,  # type: ignore[arg-type]
        bias=first.bias is not None,
    )
    with torch.no_grad():
        grey.weight.copy_(first.weight.sum(dim=1, keepdim=True))
        if grey.bias is not None and first.bias is not None:
            grey.bias.copy_(first.bias)
    return grey
