"""The base of augmentations, which make a training's batches of the bank's images; and that of the paper."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import torch
from pydantic import Field, PositiveInt, model_serializer
from torch import Generator, Tensor
from torch.nn import functional

from fmim_core.registry import KindConfig, Registry

Probability = Annotated[float, Field(ge=0, le=1)]


class Augmentation(KindConfig):
    """An augmentation and its settings; evaluation uses the normalised centre crop.

    Args:
        crop: side of the square crop, in pixels of the bank's images.
        mean, std: normalisation (value − mean)/std, values being 0 to 1: (0.5, 0.3) for OAI, (0.5, 0.5) for
            ChestX-ray14; (0.449, 0.226) are the means over ImageNet's colours.

    on_host: whether it draws from the CPU's generator and augments images one by one, which is neither compiled nor
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
"""All augmentations, by kind."""


def planes(images: Tensor) -> Tensor:
    """Return images `(B, H, W)` as `(B, 1, H, W)`, or `(B, H, W, 3)` as `(B, 3, H, W)`."""
    return images[:, None] if images.dim() == 3 else images.permute(0, 3, 1, 2)


class RandomDraws(NamedTuple):
    """Random numbers of a batch: noise `(B, C, H, W)`, standard normal; else uniform in [0, 1), `(B, 1, 1, 1)`."""

    noise_std: Tensor
    noise_chance: Tensor
    noise: Tensor
    angle: Tensor
    top: Tensor
    left: Tensor
    gamma: Tensor
    gamma_chance: Tensor


@AUGMENTATIONS.register
class PaperAugmentation(Augmentation):
    """Noise, rotation, random crop, gamma and normalisation, in this order (Suppl. Table 1a).

    Args:
        noise_p, noise_std: with this probability an image gets Gaussian noise, its sd uniform in [0, noise_std]
            of the grey range [0, 1].
        rotation: uniform in ±rotation degrees, about the image's centre, bilinear, black outside.
        gamma_p, gamma: with this probability grey ← grey^γ, γ uniform in this range.
    """

    # Left out, as before there were others, so that fingerprints and records stay what they are.
    kind: Annotated[Literal["paper"], Field(exclude_if="paper".__eq__)] = "paper"
    noise_p: Probability = 0.5
    noise_std: Annotated[float, Field(ge=0)] = 0.3
    rotation: Annotated[float, Field(ge=0, le=180)] = 10.0
    gamma_p: Probability = 0.5
    gamma: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]] = (0.5, 1.5)

    def draw(self, images: Tensor, generator: Generator) -> RandomDraws:
        shape = planes(images).shape

        def uniform() -> Tensor:
            return torch.rand((shape[0], 1, 1, 1), generator=generator, device=images.device)

        noise_std, noise_chance = uniform(), uniform()
        noise = torch.randn(shape, generator=generator, device=images.device)
        return RandomDraws(noise_std, noise_chance, noise, *(uniform() for _ in range(5)))

    def apply(self, images: Tensor, draws: RandomDraws) -> Tensor:
        grey = planes(images).float() / 255
        grey = self._noise(grey, draws)
        grey = self._rotate_and_crop(grey, draws)
        return self.normalised(self._gamma(grey, draws))

    def _noise(self, grey: Tensor, draws: RandomDraws) -> Tensor:
        std = self.noise_std * draws.noise_std * (draws.noise_chance < self.noise_p)
        return (grey + std * draws.noise).clamp_(0, 1)

    def _rotate_and_crop(self, grey: Tensor, draws: RandomDraws) -> Tensor:
        """Do both by one bilinear resampling: the crop's offset is a whole number of pixels of the rotated image."""
        height, width = grey.shape[2:]
        angle = (2 * draws.angle - 1).view(-1) * math.radians(self.rotation)
        top = (draws.top.view(-1) * (height - self.crop + 1)).floor()
        left = (draws.left.view(-1) * (width - self.crop + 1)).floor()
        # Pixel coordinates of the crop relative to the image's centre, in grid_sample's units, then rotated. x and y
        # are planes of their own: on a CPU both the products and the sampling are several times as fast.
        steps = torch.arange(self.crop, device=grey.device)
        y = (2 / height) * (top[:, None] + steps - (height - 1) / 2)[:, None, :, None]
        x = (2 / width) * (left[:, None] + steps - (width - 1) / 2)[:, None, None, :]
        cos, sin = angle.cos(), angle.sin()
        of_x = torch.stack([cos, sin * (width / height)], dim=1)[:, :, None, None]
        of_y = torch.stack([-sin * (height / width), cos], dim=1)[:, :, None, None]
        grid = (x * of_x + y * of_y).permute(0, 2, 3, 1)
        return functional.grid_sample(grey, grid, mode="bilinear", padding_mode="zeros", align_corners=False)

    def _gamma(self, grey: Tensor, draws: RandomDraws) -> Tensor:
        low, high = self.gamma
        gamma = low + (high - low) * draws.gamma
        gamma = torch.where(draws.gamma_chance < self.gamma_p, gamma, torch.ones_like(gamma))
        return grey.clamp_(min=0).log_().mul_(gamma).exp_()  # half the time of `pow`; log 0 = −∞ gives 0 again
