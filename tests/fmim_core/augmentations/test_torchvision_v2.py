"""torchvision's transforms: what torchvision does to each image with the same random numbers, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision.transforms import v2

from fmim.declare import Arm
from fmim_core.augmentations.base import AUGMENTATIONS
from fmim_core.augmentations.torchvision_v2 import TorchvisionTransforms, Transform
from fmim_core.data.bank.bank import Bank
from fmim_core.seeding import scoped_torch_seed, torch_generator
from fmim_core.training.config import TrainConfig
from fmim_core.training.step import rehearse_augmentation
from fmim_core.trial.trial import RunSettings, Trial
from fmim_spaces.domain import Choice, Space
from tests.conftest import tiny_config
from tests.support.documents import comparable
from tests.support.mini_study import first_search_trials, mini_plan

NEEDED: dict[str, dict[str, Any]] = {
    "GaussianBlur": {"kernel_size": 3},
    "Pad": {"padding": 2},
    "RandomAffine": {"degrees": 10},
    "RandomAdjustSharpness": {"sharpness_factor": 2},
    "RandomPosterize": {"bits": 4},
    "RandomResize": {"min_size": 20, "max_size": 30},
    "RandomRotation": {"degrees": 10},
    "RandomShortestSize": {"min_size": 20},
    "RandomSolarize": {"threshold": 0.5},
    "ScaleJitter": {"target_size": [30, 30]},
}
FIELDS = [
    {"name": "RandomResizedCrop", "params": {"scale": [0.2, 1.0]}},
    {"name": "RandomHorizontalFlip"},
    {"name": "ColorJitter", "params": {"brightness": 0.4, "hue": 0.1}, "chance": 0.8},
    {"name": "GaussianNoise"},
]


def images(*shape: int) -> torch.Tensor:
    return torch.randint(0, 256, shape, generator=torch_generator("images"), dtype=torch.uint8)


def augmentation(transforms: Any, crop: int = 24, **fields: Any) -> TorchvisionTransforms:
    found = AUGMENTATIONS.make({"kind": "torchvision", "crop": crop, "transforms": transforms} | fields)
    assert isinstance(found, TorchvisionTransforms)
    return found


@pytest.mark.parametrize("shape", [(6, 28, 28), (6, 28, 28, 3)])
def test_each_image_is_what_torchvision_makes_of_it_with_random_numbers_of_its_own(shape: tuple[int, ...]) -> None:
    stored, ours = images(*shape), augmentation(FIELDS, mean=0.4, std=0.2)
    seed = ours.draw(stored, torch_generator("draws"))
    theirs = v2.Compose(
        [
            v2.RandomResizedCrop(24, scale=(0.2, 1.0)),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(brightness=0.4, hue=0.1)], p=0.8),
            v2.GaussianNoise(),
        ]
    )
    plain = (stored[:, None] if stored.dim() == 3 else stored.movedim(3, 1)).float() / 255
    with scoped_torch_seed(seed):
        expected = torch.stack([theirs(image) for image in plain])
    before = torch.get_rng_state()
    found = ours.train(stored, torch_generator("draws"))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(found, (expected - 0.4) / 0.2)
    assert not torch.equal(ours.train(stored, torch_generator("others")), found)
    same = ours.train(stored[:1].expand(4, *stored.shape[1:]), torch_generator("draws"))
    assert len(torch.unique(same, dim=0)) == 4  # one image four times, each drawn for by itself
    assert torch.equal(ours.test(stored), (plain[:, :, 2:26, 2:26] - 0.4) / 0.2)


@pytest.mark.parametrize("name", Transform.library.names())
@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 3)])
def test_every_transform_of_the_installed_version_works(name: str, shape: tuple[int, ...]) -> None:
    """What changes the size is followed by a crop; those that make other channels are told so."""
    fields = [{"name": name, "params": NEEDED.get(name, {})}, {"name": "RandomCrop", "params": {"pad_if_needed": True}}]
    made = augmentation(fields)
    if name == "Grayscale" and len(shape) == 3:
        with pytest.raises(ValueError, match=r"\(28, 28, 3\): it makes \(64, 1, 24, 24\) instead of \(64, 3, 24, 24\)"):
            rehearse_augmentation(made, shape)
        return
    rehearse_augmentation(made, shape)
    assert made.train(images(2, *shape), torch_generator(name)).isfinite().all()


def test_a_list_its_text_and_dotted_names_say_the_same_and_the_papers_stays_unnamed() -> None:
    listed = augmentation([{"name": "RandomResizedCrop", "params": {"scale": [0.2, 1]}}, {"name": "RandomRotation",
                            "params": {"degrees": 5}}])  # fmt: skip
    text = json.dumps(listed.model_dump(mode="json")["transforms"])
    assert augmentation(text) == listed
    arm = Arm(
        name="dotted",
        search="",
        settings=(
            ("loss.kind", "triplet"),
            ("margins.kind", "fixed"),
            ("margins.epsilon", 0.2),
            ("augmentation.kind", "torchvision"),
            ("augmentation.transforms.RandomResizedCrop.scale", [0.2, 1]),
        ),
        space=Space(choices=(Choice(path="augmentation.transforms.RandomRotation.degrees", values=(5, 10)),)),
    )
    config = arm.train_config(mini_plan().preset, {"degrees": 5})
    assert config.augmentation == listed
    assert TrainConfig.model_validate(config.model_dump(mode="json")) == config
    assert "kind" not in tiny_config().model_dump()["augmentation"]


@pytest.mark.parametrize(
    ("transforms", "message"),
    [
        ([{"name": "RandomHorizontalFlop"}], r"unknown torchvision transform 'RandomHorizontalFlop'; there are .*"
         r"Did you mean 'RandomHorizontalFlip'\?"),
        ([{"name": "ColorJitter", "params": {"brigthness": 1}}], r"unknown field 'brigthness'.*Did you mean 'brightn"),
        ([{"name": "RandomCrop", "params": {"size": 9}}], "size cannot be set: set augmentation.crop"),
        ([{"name": "RandomRotation"}], "RandomRotation needs degrees: give params.degrees"),
        ([{"name": "RandomHorizontalFlip", "p": 0.3}], "unknown field 'p'; Transform has name, params, chance"),
        ([{"name": "Normalize"}], "cannot be used here: set augmentation.mean and augmentation.std"),
        ([{"name": "MixUp"}], "cannot be used here: it mixes"),
        ([], "at least 1 item"),
        ("[{", "write the list as"),
    ],
)  # fmt: skip
def test_what_is_refused(transforms: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        augmentation(transforms)


def test_transforms_that_lead_to_another_size_are_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match=r"it makes \(64, 1, 28, 28\) instead of \(64, 1, 24, 24\): end with"):
        rehearse_augmentation(augmentation([{"name": "RandomHorizontalFlip"}]), (28, 28))
    for chance in (0.1, 0.9):  # most images, or few, keep their size
        with pytest.raises(ValueError, match="equal size"):
            rehearse_augmentation(augmentation([{"name": "RandomCrop", "chance": chance}]), (28, 28))
    with pytest.raises(ValueError, match=r"cannot be done on images .*: Required crop size .* is larger"):
        rehearse_augmentation(augmentation([{"name": "RandomCrop"}]), (20, 20))
    with pytest.raises(ValueError, match=r"cannot be done on images .*: hue"):
        rehearse_augmentation(augmentation([{"name": "ColorJitter", "params": {"hue": 2}}]), (24, 24))
    with pytest.raises(ValueError, match="'cudagraphs' cannot work with augmentation = Torchvision"):
        tiny_config(augmentation=augmentation(FIELDS), compile="cudagraphs")


def test_a_killed_training_goes_on_the_same(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = first_search_trials(mini_plan(epochs=4), tiny_bank)[1]
    train = spec.train.model_copy(update={"augmentation": augmentation(FIELDS)})
    spec = spec.model_copy(update={"train": train})
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    settings = RunSettings(tmp_path / "parts", "cpu", checkpoint_every_s=0.0)
    stopped = Trial(spec, settings)
    for _ in range(2):
        stopped.step()
    resumed = Trial(spec, settings)
    assert resumed.step().epoch == 3
    assert comparable(resumed.run()) == comparable(whole)
    assert whole.config["augmentation"]["kind"] == "torchvision"
