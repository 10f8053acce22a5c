"""Augmentations: exact where randomness is switched off, within their stated ranges where not."""

from __future__ import annotations

import pytest
import torch
from scipy import ndimage

from fmim_core.augmentations.base import PaperAugmentation
from fmim_core.seeding import torch_generator

PLAIN = {"noise_p": 0.0, "rotation": 0.0, "gamma_p": 0.0, "mean": 0.0, "std": 1.0}


def images(count: int, size: int = 20) -> torch.Tensor:
    return torch.randint(0, 256, (count, size, size), generator=torch_generator("images"), dtype=torch.uint8)


def test_testing_is_the_normalised_centre_crop() -> None:
    grey = images(3)
    out = PaperAugmentation(crop=16, mean=0.5, std=0.3).test(grey)
    expected = (grey[:, None, 2:18, 2:18].float() / 255 - 0.5) / 0.3
    assert torch.equal(out, expected)


def test_without_rotation_a_random_crop_is_a_window_of_the_image() -> None:
    grey = images(400)
    out = PaperAugmentation(crop=16, **PLAIN).train(grey, torch_generator("crop"))
    windows = (grey.float() / 255).unfold(1, 16, 1).unfold(2, 16, 1)  # (B, 5, 5, 16, 16)
    distance = (windows - out[:, 0, None, None]).abs().amax(dim=(3, 4)).view(400, 25)
    assert distance.min(dim=1).values.max() < 1e-5
    assert len(distance.argmin(dim=1).unique()) == 25  # all offsets occur


def test_rotation_is_a_bilinear_rotation_about_the_centre() -> None:
    angle = 7.0
    grey = images(1)
    augmentation = PaperAugmentation(crop=20, **{**PLAIN, "rotation": angle})
    out = augmentation.train(grey, torch_generator("rotation"))[0, 0]
    drawn = float(2 * torch.rand(1, 1, 1, 1, generator=_after_noise(grey)) - 1) * angle
    expected = ndimage.rotate(grey[0].float() / 255, drawn, reshape=False, order=1, mode="constant", cval=0.0)
    # Compare away from the border, where the two libraries blend with black differently.
    assert torch.allclose(out[4:-4, 4:-4], torch.from_numpy(expected)[4:-4, 4:-4], atol=1e-4)


def _after_noise(grey: torch.Tensor) -> torch.Generator:
    """The generator as it stands when the rotation is drawn: after two draws per image and one per pixel."""
    generator = torch_generator("rotation")
    for _ in range(2):
        torch.rand((1, 1, 1, 1), generator=generator)
    torch.randn((1, 1, *grey.shape[1:]), generator=generator)
    return generator


def test_gamma_and_noise_stay_in_their_ranges() -> None:
    grey = torch.full((400, 16, 16), 64, dtype=torch.uint8)
    value = 64 / 255
    out = PaperAugmentation(crop=16, **{**PLAIN, "gamma_p": 0.5}).train(grey, torch_generator("gamma"))
    levels = out.mean(dim=(1, 2, 3))
    exponent = levels.log() / torch.tensor(value).log()
    unchanged = (exponent - 1).abs() < 1e-4
    assert 0.4 < unchanged.float().mean() < 0.6
    assert exponent.min() >= 0.5 - 1e-4
    assert exponent.max() <= 1.5 + 1e-4

    noisy = PaperAugmentation(crop=16, **{**PLAIN, "noise_p": 1.0, "noise_std": 0.1}).train(
        grey, torch_generator("noise")
    )
    spread = (noisy - value).std(dim=(1, 2, 3))
    assert spread.max() < 0.12
    assert 0.04 < spread.mean() < 0.06  # sd uniform in [0, 0.1]


@pytest.mark.parametrize(("field", "value"), [("noise_p", 1.5), ("gamma", (0.0, 1.0)), ("crop", 0), ("std", 0.0)])
def test_bad_values_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        PaperAugmentation(**{field: value})
