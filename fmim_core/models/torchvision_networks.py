"""Networks of torchvision for grey or colour images, with a linear embedding instead of the classifier."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import urlparse

import torch
from torch import nn

from fmim_core.models.base import BACKBONES
from fmim_core.models.pretrained import PretrainedBackbone, first_layer_for


class TorchvisionBackbone(PretrainedBackbone):
    """A network of torchvision, which publishes `imagenet` weights for most.

    torchvision: the network's name there. imagenet: that of these weights; blank where there are none.
    first, classifier: its layers that are replaced. features: inputs of the classifier.
    """

    torchvision: ClassVar[str]
    imagenet: ClassVar[str] = ""
    first: ClassVar[str]
    classifier: ClassVar[str]
    features: ClassVar[int]

    def network(self, image_size: int) -> nn.Module:
        """Return torchvision's own network, with random weights."""
        from torchvision.models import get_model

        network: nn.Module = get_model(self.torchvision, weights=None)
        return network

    @property
    def published(self) -> tuple[str, ...]:
        return ("imagenet",) if self.imagenet else ()

    @property
    def address(self) -> str:
        """The URL of the published weights."""
        from torchvision.models import get_weight

        return str(get_weight(self.imagenet).url)

    def published_file(self) -> Path:
        file = Path(torch.hub.get_dir()) / "checkpoints" / Path(urlparse(self.address).path).name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            torch.hub.download_url_to_file(self.address, str(file), progress=False)
        return file

    def published_sha256(self, file: Path) -> str:
        """Return its first eight digits, with which torch's names end: resnet18-f37072fd.pth."""
        return file.stem.rpartition("-")[2]

    def build(self, image_size: int) -> nn.Module:
        network = self.with_weights(self.network(image_size))
        network.set_submodule(self.first, first_layer_for(self.channels, network.get_submodule(self.first)))
        self.begin(network, [self.first])
        network.set_submodule(self.classifier, nn.Linear(self.features, self.embedding_dim))
        return network


@BACKBONES.register
class ResNet18(TorchvisionBackbone):
    """ResNet-18 (He et al. 2016), the paper's backbone."""

    kind: Literal["resnet18"] = "resnet18"
    torchvision = "resnet18"
    imagenet = "ResNet18_Weights.IMAGENET1K_V1"
    first, classifier, features = "conv1", "fc", 512


@BACKBONES.register
class ResNet50(TorchvisionBackbone):
    """ResNet-50 (He et al. 2016)."""

    kind: Literal["resnet50"] = "resnet50"
    torchvision = "resnet50"
    imagenet = "ResNet50_Weights.IMAGENET1K_V2"
    first, classifier, features = "conv1", "fc", 2048


@BACKBONES.register
class ConvNeXtTiny(TorchvisionBackbone):
    """ConvNeXt-Tiny (Liu et al. 2022), without stochastic depth: it would draw from the global generator."""

    kind: Literal["convnext_tiny"] = "convnext_tiny"
    torchvision = "convnext_tiny"
    imagenet = "ConvNeXt_Tiny_Weights.IMAGENET1K_V1"
    first, classifier, features = "features.0.0", "classifier.2", 768

    def network(self, image_size: int) -> nn.Module:
        from torchvision.models import get_model

        network: nn.Module = get_model(self.torchvision, weights=None, stochastic_depth_prob=0.0)
        return network


@BACKBONES.register
class ViTSmall(TorchvisionBackbone):
    """ViT-S/16 (Dosovitskiy et al. 2021; 12 layers, 6 heads, width 384); torchvision has no weights for it.

    Its images' side must be a multiple of 16.
    """

    kind: Literal["vit_s_16"] = "vit_s_16"
    first, classifier, features = "conv_proj", "heads", 384

    def network(self, image_size: int) -> nn.Module:
        from torchvision.models import VisionTransformer

        if image_size % 16:
            raise ValueError(f"augmentation.crop = {image_size}: ViT-S/16 needs a multiple of 16")
        size = {"num_layers": 12, "num_heads": 6, "hidden_dim": 384, "mlp_dim": 1536}
        return VisionTransformer(image_size=image_size, patch_size=16, **size)
