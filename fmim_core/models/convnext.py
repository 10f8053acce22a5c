"""ConvNeXt (Liu et al. 2022) with one input channel and a linear embedding instead of the classifier."""

from __future__ import annotations

from typing import Any, Literal

from torch import nn

from fmim_core.models.base import BACKBONES
from fmim_core.models.pretrained import grey_input
from fmim_core.models.torchvision_base import TorchvisionBackbone


@BACKBONES.register
class ConvNeXtTiny(TorchvisionBackbone):
    """ConvNeXt-Tiny (Liu et al. 2022), without stochastic depth: it would draw from the global generator."""

    kind: Literal["convnext_tiny"] = "convnext_tiny"

    @property
    def imagenet(self) -> Any:
        from torchvision.models import ConvNeXt_Tiny_Weights

        return ConvNeXt_Tiny_Weights.IMAGENET1K_V1

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import convnext_tiny

        network: Any = self.with_weights(convnext_tiny(stochastic_depth_prob=0.0))
        network.features[0][0] = grey_input(network.features[0][0])
        network.classifier[-1] = nn.Linear(network.classifier[-1].in_features, self.embedding_dim)
        return network
