"""The base of augmentations: what a training makes of the bank's images, and the centre crop that testing sees."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from pydantic import Field, PositiveInt, model_serializer
from torch import Generator, Tensor

from fmim_core.registry import KindConfig, Registry

Probability = Annotated[float, Field(ge=0, le=1)]


class Augmentation(KindConfig):
    """An augmentation and its settings; in testing it is the normalised centre crop.

    Args:
        crop: side of the square crop, in pixels of the bank's images.
        mean, std: normalisation (value − mean)/std, values being 0 to 1: (0.5, 0.3) for OAI, (0.5, 0.5) for
            ChestX-ray14; (0.449, 0.226) are the means over ImageNet's colours.

    on_host: whether the CPU's generator draws and each image is augmented by itself, which is neither compiled nor
    captured.
    """

    on_host: ClassVar[bool] = False
    crop: PositiveInt = 256
    mean: float = 0.5
    std: Annotated[float, Field(gt=0)] = 0.3

    @model_serializer(mode="wrap")
    def _normalisation_last(self, fields: Any) -> dict[str, Any]:
        """Return the fields in the order that records have had before there were kinds."""
        found = fields(self)
        return {name: found[name] for name in sorted(found, key=("mean", "std").__contains__)}

    def train(self, images: Tensor, generator: Generator) -> Tensor:
        """Augment uint8 images `(B, H, W)`, or `(B, H, W, 3)` → float32 `(B, C, crop, crop)`.

        The generator is on the images' device, or on the CPU if `on_host`.
        """
        return self.apply(images, self.draw(images, generator))

    @abstractmethod
    def draw(self, images: Tensor, generator: Generator) -> Any:
        """Draw what is random about a batch of images: apart from `apply`, which may be compiled."""

    @abstractmethod
    def apply(self, images: Tensor, draws: Any) -> Tensor:
        """Augment as `train` does, given what was drawn."""

    def test(self, images: Tensor) -> Tensor:
        """Crop the centre of uint8 images, normalised; shapes are as in `train`."""
        top, left = ((size - self.crop) // 2 for size in images.shape[1:3])
        return self.normalised(planes(images[:, top : top + self.crop, left : left + self.crop]).float() / 255)

    def normalised(self, images: Tensor) -> Tensor:
        """Return (value − mean)/std of values in [0, 1]."""
        return (images - self.mean) / self.std


AUGMENTATIONS: Registry[Augmentation] = Registry("augmentation", "fmim_core.augmentations", default="paper")
"""The augmentations there are, by kind."""


def planes(images: Tensor) -> Tensor:
    """Return images `(B, H, W)` as `(B, 1, H, W)`, or `(B, H, W, 3)` as `(B, 3, H, W)`."""
    return images[:, None] if images.dim() == 3 else images.permute(0, 3, 1, 2)
