"""torchvision's transforms by their names in `torchvision.transforms.v2`, with torchvision's own parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import BeforeValidator, Field
from torch import Generator, Tensor, nn

from fmim_core.augmentations.base import AUGMENTATIONS, Augmentation, Probability, planes
from fmim_core.library import Library, LibraryClass, parameters
from fmim_core.seeding import scoped_torch_seed

_LEFT_OUT = {
    "Compose RandomApply RandomChoice RandomOrder": "list its transforms instead; each may have a chance",
    "ConvertImageDtype PILToTensor RGB ToDtype ToImage ToPILImage ToPureTensor ToTensor": "images must stay float32",
    "JPEG": "it needs whole numbers, but images are float32 in [0, 1]",
    "ClampBoundingBoxes ClampKeyPoints ConvertBoundingBoxFormat RandomIoUCrop SanitizeBoundingBoxes SanitizeKeyPoints "
    "SetClampingMode UniformTemporalSubsample": "it is for boxes, key points or videos",
    "CutMix MixUp": "it mixes images and their labels",
    "FiveCrop TenCrop": "it makes several images from one",
    "Lambda LinearTransformation": "a settings file cannot hold its arguments",
    "Normalize": "set augmentation.mean and augmentation.std instead; evaluation needs them too",
}


class Transform(LibraryClass):
    """A transform of `torchvision.transforms.v2`, e.g. `RandomResizedCrop` with `scale` = [0.2, 1].

    Args:
        chance: the probability of applying it to an image; its own parameters may add another.
    """

    library: ClassVar = Library(
        "torchvision transform",
        "torchvision.transforms.v2",
        "Transform",
        left_out={name: why for names, why in _LEFT_OUT.items() for name in names.split()},
        given={"size": "set augmentation.crop instead"},
    )
    chance: Annotated[Probability, Field(exclude_if=(1.0).__eq__)] = 1.0

    def of_size(self, crop: int) -> nn.Module:
        """Return the transform; one that takes a size gets this one."""
        from torchvision.transforms import v2

        made = self.make(**({"size": crop} if "size" in parameters(self.library.find(self.name)) else {}))
        return made if self.chance == 1 else v2.RandomApply([made], self.chance)


def _in_order(given: Any) -> Any:
    """Return a list for its text, as a command line has it, or for a mapping of names to parameters."""
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except ValueError as error:
        raise ValueError(f'write the list as [{{"name": "RandomHorizontalFlip"}}]: {error}') from error
    return [{"name": name, "params": params} for name, params in given.items()] if isinstance(given, Mapping) else given


@AUGMENTATIONS.register
class TorchvisionTransforms(Augmentation):
    """Transforms of `torchvision.transforms.v2` in the given order, on float32 images in [0, 1], then normalisation.

    Each image has its own random numbers, drawn on its device; they follow from the seed and the epoch.

    Args:
        transforms: a list, [{"name": "RandomResizedCrop", "params": {"scale": [0.2, 1]}}, ...], or dotted by name:
            `augmentation.transforms.RandomHorizontalFlip.p`. All sizes are `crop`; the last image must have this size.
    """

    kind: Literal["torchvision"] = "torchvision"
    on_host = True
    transforms: Annotated[tuple[Transform, ...], BeforeValidator(_in_order), Field(min_length=1)]

    def draw(self, images: Tensor, generator: Generator) -> int:
        return int(torch.randint(2**63 - 1, (), generator=generator))

    def apply(self, images: Tensor, draws: int) -> Tensor:
        transforms = [transform.of_size(self.crop) for transform in self.transforms]
        augmented = []
        with scoped_torch_seed(draws, device=images.device):
            for image in planes(images).float() / 255:
                for transform in transforms:
                    image = transform(image)
                augmented.append(image)
        return self.normalised(torch.stack(augmented))
