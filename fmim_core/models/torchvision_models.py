"""torchvision's backbones with one input channel and a linear embedding instead of the classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import PositiveInt
from torch import nn

from fmim_core.config import Config


class _Backbone(Config):
    """Fields that all share.

    Args:
        embedding_dim: D.
        weights: `none` (random), `imagenet` (torchvision downloads them once), or the path of a file with a
            torchvision state dict of the same network. The first layer's three colour kernels are summed, which
            computes what the pretrained network does with three equal channels.
    """

    embedding_dim: PositiveInt = 128
    weights: str = "none"

    def _load(self, network: nn.Module, imagenet: Any) -> nn.Module:
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


class ResNet18(_Backbone):
    """ResNet-18 (He et al. 2016), the paper's backbone."""

    kind: Literal["resnet18"] = "resnet18"

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import ResNet18_Weights, resnet18

        return _resnet(self._load(resnet18(), ResNet18_Weights.IMAGENET1K_V1), self.embedding_dim)


class ResNet50(_Backbone):
    """ResNet-50 (He et al. 2016)."""

    kind: Literal["resnet50"] = "resnet50"

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import ResNet50_Weights, resnet50

        return _resnet(self._load(resnet50(), ResNet50_Weights.IMAGENET1K_V2), self.embedding_dim)


class ConvNeXtTiny(_Backbone):
    """ConvNeXt-Tiny (Liu et al. 2022), without stochastic depth: it would draw from the global generator."""

    kind: Literal["convnext_tiny"] = "convnext_tiny"

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import ConvNeXt_Tiny_Weights, convnext_tiny

        network: Any = self._load(convnext_tiny(stochastic_depth_prob=0.0), ConvNeXt_Tiny_Weights.IMAGENET1K_V1)
        network.features[0][0] = _grey_input(network.features[0][0])
        network.classifier[-1] = nn.Linear(network.classifier[-1].in_features, self.embedding_dim)
        return network


class ViTSmall(_Backbone):
    """ViT-S/16 (Dosovitskiy et al. 2021; 12 layers, 6 heads, width 384); torchvision has no weights for it.

    Its images' side must be a multiple of 16.
    """

    kind: Literal["vit_s_16"] = "vit_s_16"

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import VisionTransformer

        if image_size % 16:
            raise ValueError(f"augmentation.crop = {image_size}: ViT-S/16 needs a multiple of 16")
        size = {"num_layers": 12, "num_heads": 6, "hidden_dim": 384, "mlp_dim": 1536}
        network = self._load(VisionTransformer(image_size=image_size, patch_size=16, **size), None)
        network.conv_proj = _grey_input(network.conv_proj)  # type: ignore[arg-type]
        network.heads = nn.Linear(384, self.embedding_dim)
        return network


def _resnet(network: Any, embedding_dim: int) -> nn.Module:
    network.conv1 = _grey_input(network.conv1)
    network.fc = nn.Linear(network.fc.in_features, embedding_dim)
    return network


def _grey_input(first: nn.Conv2d) -> nn.Conv2d:
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
