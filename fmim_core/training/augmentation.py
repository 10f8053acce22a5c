"""The paper's augmentations, for a whole batch at once, on the device the images are on."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import torch
from pydantic import Field, PositiveInt
from torch import Generator, Tensor
from torch.nn import functional

from fmim_core.config import Config

Probability = Annotated[float, Field(ge=0, le=1)]


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


def planes(images: Tensor) -> Tensor:
    """Return images `(B, H, W)` as `(B, 1, H, W)`, or `(B, H, W, 3)` as `(B, 3, H, W)`."""
    return images[:, None] if images.dim() == 3 else images.permute(0, 3, 1, 2)


class Augmentation(Config):
    """Noise, rotation, random crop, gamma, normalisation, in this order (Suppl. Table 1a); in testing, centre crop.

    Args:
        crop: side of the square crop, in pixels of the bank's images.
        noise_p, noise_std: with this probability an image gets Gaussian noise, its sd uniform in [0, noise_std]
            of the grey range [0, 1].
        rotation: uniform in ±rotation degrees, about the image's centre, bilinear, black outside.
        gamma_p, gamma: with this probability grey ← grey^γ, γ uniform in this range.
        mean, std: normalisation (grey − mean)/std: (0.5, 0.3) for OAI, (0.5, 0.5) for ChestX-ray14.
    """

    crop: PositiveInt = 256
    noise_p: Probability = 0.5
    noise_std: Annotated[float, Field(ge=0)] = 0.3
    rotation: Annotated[float, Field(ge=0, le=180)] = 10.0
    gamma_p: Probability = 0.5
    gamma: tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]] = (0.5, 1.5)
    mean: float = 0.5
    std: Annotated[float, Field(gt=0)] = 0.3

    def train(self, images: Tensor, generator: Generator) -> Tensor:
        """Augment uint8 images `(B, H, W)`, or `(B, H, W, 3)` → float32 `(B, C, crop, crop)`.

        The generator is on the images' device.
        """
        return self.apply(images, self.draw(images, generator))

    def draw(self, images: Tensor, generator: Generator) -> RandomDraws:
        """Draw what is random about a batch of images: apart from `apply`, which may be compiled."""
        shape = planes(images).shape

        def uniform() -> Tensor:
            return torch.rand((shape[0], 1, 1, 1), generator=generator, device=images.device)

        noise_std, noise_chance = uniform(), uniform()
        noise = torch.randn(shape, generator=generator, device=images.device)
        return RandomDraws(noise_std, noise_chance, noise, *(uniform() for _ in range(5)))

    def apply(self, images: Tensor, draws: RandomDraws) -> Tensor:
        """Augment as `train` does, given what was drawn."""
        grey = planes(images).float() / 255
        grey = self._noise(grey, draws)
        grey = self._rotate_and_crop(grey, draws)
        return self._normalise(self._gamma(grey, draws))

    def test(self, images: Tensor) -> Tensor:
        """Crop the centre of uint8 images, normalised; shapes are as in `train`."""
        top, left = ((size - self.crop) // 2 for size in images.shape[1:3])
        grey = planes(images[:, top : top + self.crop, left : left + self.crop]).float() / 255
        return self._normalise(grey)

    def _normalise(self, grey: Tensor) -> Tensor:
        return (grey - self.mean) / self.std

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
