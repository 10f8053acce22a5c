"""The vision transformer (Dosovitskiy et al. 2021) with one input channel and a linear embedding."""

from __future__ import annotations

from typing import Any, Literal

from torch import nn

from fmim_core.models.base import BACKBONES
from fmim_core.models.pretrained import grey_input
from fmim_core.models.torchvision_base import TorchvisionBackbone


@BACKBONES.register
class ViTSmall(TorchvisionBackbone):
    """ViT-S/16 (Dosovitskiy et al. 2021; 12 layers, 6 heads, width 384); torchvision has no weights for it.

    Its images' side must be a multiple of 16.
    """

    kind: Literal["vit_s_16"] = "vit_s_16"

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import VisionTransformer

        if image_size % 16:
            raise ValueError(f"augmentation.crop = {image_size}: ViT-S/16 needs a multiple of 16")
        size = {"num_layers": 12, "num_heads": 6, "hidden_dim": 384, "mlp_dim": 1536}
        network: Any = self.with_weights(VisionTransformer(image_size=image_size, patch_size=16, **size))
        network.conv_proj = grey_input(network.conv_proj)
        network.heads = nn.Linear(384, self.embedding_dim)
        return network
