"""Networks that torchxrayvision (Cohen et al. 2022) trained on chest radiographs, as embedding networks.

They are torchvision's networks, trained with one input channel, so that random weights and those of a file need no
other package. torchxrayvision is an optional one: it is imported when the weights that it publishes are asked for.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from fmim_core.models.base import BACKBONES
from fmim_core.models.pretrained import PretrainedBackbone, first_layer_for, missing_extra

PATHOLOGIES = 18  # outputs of every published network; the layer is replaced
GREY_RANGE = 1024


class RadiographNetwork(PretrainedBackbone):
    """A network of torchxrayvision, whose weights come from images with grey values from −1024 to 1024.

    With such weights its images are multiplied by 1024 first, and must be normalised to [−1, 1], by mean 0.5 and
    standard deviation 0.5 as ChestX-ray14's are; other normalisations are refused. It takes images of any side
    from 32 px, means over all places being its last layer but one; the published weights come from 224 px
    (DenseNet-121) and 512 px (ResNet-50).

    A file has the state dict of torchxrayvision's own network. What torchxrayvision downloads for DenseNet-121 is no
    state dict, but a whole network: put it where torchxrayvision looks for it, `~/.torchxrayvision/models_data/`.

    torchvision: the network's name there. first, classifier: its layers that are replaced.
    """

    trained_on: ClassVar[tuple[str, ...]]
    torchvision: ClassVar[str]
    first: ClassVar[str]
    classifier: ClassVar[str]

    @property
    def published(self) -> tuple[str, ...]:
        return self.trained_on

    def published_file(self) -> Path:
        with _torchxrayvision(self.kind) as library:
            return Path(library.models.get_weights(self.weights))

    def state(self) -> Mapping[str, Tensor] | None:
        """Return it as every network does; its ResNet has torchvision's as `model`, and both keep thresholds."""
        if self.weights in self.published:
            with _torchxrayvision(self.kind) as library:
                found = library.models.get_model(self.weights).state_dict()
        else:
            found = super().state()
        if found is None:
            return None
        return {name.removeprefix("model."): value for name, value in found.items() if name != "op_threshs"}

    @property
    def normalisation(self) -> tuple[float, float] | None:
        return (0.5, 0.5) if self.pretrained else None

    def build(self, image_size: int) -> nn.Module:
        from torchvision.models import get_model

        network: nn.Module = get_model(self.torchvision, weights=None, num_classes=PATHOLOGIES)
        first = network.get_submodule(self.first)
        network.set_submodule(self.first, first_layer_for(1 if self.pretrained else self.channels, first))
        self.with_weights(network)
        network.set_submodule(self.first, first_layer_for(self.channels, network.get_submodule(self.first)))
        self.begin(network, [self.first])
        features: Any = network.get_submodule(self.classifier).in_features
        network.set_submodule(self.classifier, nn.Linear(features, self.embedding_dim))
        return nn.Sequential(GreyRange(), network) if self.pretrained else network


class GreyRange(nn.Module):
    """1024 x: from [−1, 1] to the grey values that torchxrayvision's networks are trained on."""

    def forward(self, images: Tensor) -> Tensor:
        """Return `(B, C, H, W)` of `(B, C, H, W)`."""
        return images * GREY_RANGE


@BACKBONES.register
class RadiographDenseNet121(RadiographNetwork):
    """DenseNet-121 (Huang et al. 2017) with weights from chest radiographs of one or all of seven cohorts."""

    kind: Literal["xrv_densenet121"] = "xrv_densenet121"
    trained_on = tuple(
        f"densenet121-res224-{cohort}" for cohort in ("all", "nih", "pc", "chex", "rsna", "mimic_nb", "mimic_ch")
    )
    torchvision, first, classifier = "densenet121", "features.conv0", "classifier"


@BACKBONES.register
class RadiographResNet50(RadiographNetwork):
    """ResNet-50 (He et al. 2016) with weights from chest radiographs of five cohorts."""

    kind: Literal["xrv_resnet50"] = "xrv_resnet50"
    trained_on = ("resnet50-res512-all",)
    torchvision, first, classifier = "resnet50", "conv1", "fc"


@contextlib.contextmanager
def _torchxrayvision(kind: str) -> Iterator[Any]:
    """Yield the package. It silences all warnings of its process, and prints to stdout: neither is let out."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
        try:
            import torchxrayvision
        except ModuleNotFoundError as error:
            raise missing_extra(kind, "xray") from error
        yield torchxrayvision
