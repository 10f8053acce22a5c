"""ResNets (He et al. 2016) with one input channel and a linear embedding instead of the classifier."""

from __future__ import annotations

from typing import Any, Literal

from torch import nn

from fmim_core.models.base import BACKBONES
from fmim_core.models.pretrained import grey_input
from fmim_core.models.torchvision_base import TorchvisionBackbone


@BACKBONES.register
class ResNet18(TorchvisionBackbone):
    """ResNet-18 (He et al. 2016), the paper's backbone."""

    kind: Literal["resnet18"] = "resnet18"

    @property
    def imagenet(self) -> Any:
        from torchvision.models import ResNet18_Weights

        return ResNet18_Weights.IMAGENET1K_V1

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import resnet18

        return _embedding_resnet(self.with_weights(resnet18()), self.embedding_dim)


@BACKBONES.register
class ResNet50(TorchvisionBackbone):
    """ResNet-50 (He et al. 2016)."""

    kind: Literal["resnet50"] = "resnet50"

    @property
    def imagenet(self) -> Any:
        from torchvision.models import ResNet50_Weights

        return ResNet50_Weights.IMAGENET1K_V2

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import resnet50

        return _embedding_resnet(self.with_weights(resnet50()), self.embedding_dim)


def _embedding_resnet(network: Any, embedding_dim: int) -> nn.Module:
    network.conv1 = grey_input(network.conv1)
    network.fc = nn.Linear(network.fc.in_features, embedding_dim)
    return network
