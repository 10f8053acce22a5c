"""Any network of timm (Wightman 2019) by its name, for grey or colour images, with a linear embedding.

timm is an optional package: it is imported when such a configuration is made, not when the kind is registered.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import field_validator
from torch import nn

from fmim_core.models.base import BACKBONES
from fmim_core.models.pretrained import SAFETENSORS, PretrainedBackbone, missing_extra
from fmim_core.suggestions import did_you_mean


@BACKBONES.register
class TimmNetwork(PretrainedBackbone):
    """A network of timm without dropout and stochastic depth, which would draw from the global generator.

    Published weights: `pretrained`, from timm's Hugging Face hub. timm adapts position embeddings to the size of the
    images.

    Args:
        name: timm's name, e.g. `resnet26d`; a tag chooses among its weights, e.g. `resnet18.a1_in1k`.
    """

    kind: Literal["timm"] = "timm"
    name: str

    @field_validator("name")
    @classmethod
    def _timm_has_it(cls, name: str) -> str:
        known = _names()
        if name not in known:
            raise ValueError(
                f"timm has no model {name!r}; timm.list_models() and timm.list_pretrained() list its models"
                f"{did_you_mean(name, known)}"
            )
        return name

    @property
    def title(self) -> str:
        return self.name

    @property
    def published(self) -> tuple[str, ...]:
        return ("pretrained",) if self._about.hf_hub_id else ()

    def published_file(self) -> Path:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache

        place = (self._about.hf_hub_id, self._about.hf_hub_filename or f"model{SAFETENSORS}")
        cached = try_to_load_from_cache(*place)  # asks nobody: every trial of a plan wants to know
        return Path(cached if isinstance(cached, str) else hf_hub_download(*place))

    def published_sha256(self, file: Path) -> str:
        """Return the whole of it, as which the hub's cache keeps large files, and links to them by their names."""
        name = file.resolve().name
        return name if re.fullmatch("[0-9a-f]{64}", name) else ""

    def build(self, image_size: int) -> nn.Module:
        state = self.state()
        network = _timm().create_model(
            self.name,
            pretrained=state is not None,
            pretrained_cfg_overlay={"state_dict": state},
            in_chans=self.channels,
            **({"img_size": image_size} if self._about.fixed_input_size else {}),
        )
        network.pretrained_cfg.pop("state_dict", None)  # it would be kept, and travel with every copy
        self.begin(network, np.atleast_1d(self._about.first_conv))  # a name, or several
        _check_patches(network, self.name, image_size)
        if not hasattr(network, "reset_classifier"):
            raise ValueError(f"model.name = {self.name!r}: it has no classifier that can be replaced by an embedding")
        network.reset_classifier(self.embedding_dim)
        _draw_nothing(network)
        built: nn.Module = network
        return built

    @property
    def _about(self) -> Any:
        """timm's `PretrainedCfg` of the network."""
        return _timm().get_pretrained_cfg(self.name)


def _timm() -> Any:
    try:
        import timm
    except ModuleNotFoundError as error:
        raise missing_extra("timm", "timm") from error
    return timm


@cache
def _names() -> frozenset[str]:
    timm = _timm()
    return frozenset([*timm.list_models(), *timm.list_pretrained()])


def _check_patches(network: Any, name: str, image_size: int) -> None:
    """Refuse a side whose pixels do not fill patches: the network would leave some out, and not say so."""
    patch = getattr(getattr(network, "patch_embed", None), "patch_size", None) or (1, 1)
    if any(image_size % side for side in patch):
        raise ValueError(f"augmentation.crop = {image_size}: {name} needs a multiple of {max(patch)}")


def _draw_nothing(network: Any) -> None:
    """Switch dropout and stochastic depth off: many of timm's networks have some by default."""
    from timm.layers import DropPath

    dropouts = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
    for module in network.modules():
        if isinstance(module, dropouts):
            module.p = 0.0
        elif isinstance(module, DropPath):
            module.drop_prob = 0.0
        if isinstance(getattr(module, "drop_rate", None), float):  # of a functional dropout
            module.drop_rate = 0.0
