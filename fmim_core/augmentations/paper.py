"""The paper's augmentation, for a whole batch at once, on the device the images are on."""

from __future__ import annotations

import math
from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Generator, Tensor
from torch.nn import functional

from fmim_core.augmentations.base import AUGMENTATIONS, Augmentation, Probability, planes


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
    """Noise, rotation, random crop, gamma, normalisation, in this order (Suppl. Table 1a).

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
