"""Backbones: what they compute, one input channel, weights from a file, and how much work they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torchvision.models import ConvNeXt_Tiny_Weights, ResNet18_Weights, ResNet50_Weights, resnet18

from fmim_core.models.base import BACKBONES, Backbone, multiply_adds
from fmim_core.models.pretrained import first_layer_for
from fmim_core.models.small import SmallConvNet
from fmim_core.models.torchvision_networks import ConvNeXtTiny, ResNet18, ResNet50, ViTSmall
from fmim_core.seeding import scoped_torch_seed


def test_the_small_network_is_strided_convolutions_means_and_a_linear_layer() -> None:
    """Written out with the same weights: each pixel that a layer has lies in the middle of its kernel's steps."""
    with scoped_torch_seed("small"):
        network, images = SmallConvNet(widths=(3, 5, 7), embedding_dim=6, grid=2).build(32), torch.randn(4, 1, 32, 32)
    state, grey = network.state_dict(), images
    for first, stride in ((0, 4), (3, 2), (6, 2)):
        kernels, side = state[f"{first}.weight"], 2 * stride
        patches = torch.nn.functional.pad(grey, (stride // 2,) * 4).unfold(2, side, stride).unfold(3, side, stride)
        grey = torch.einsum("bchwij,ocij->bohw", patches, kernels)
        mean, variance = grey.mean((0, 2, 3)), grey.var((0, 2, 3), correction=0)
        grey = ((grey - mean[:, None, None]) / (variance[:, None, None] + 1e-5).sqrt()).clamp(min=0)
    assert grey.shape == (4, 7, 2, 2)  # a grid of 2 × 2 already
    expected = grey.flatten(1) @ state["11.weight"].T + state["11.bias"]
    assert torch.allclose(network(images), expected, atol=1e-5)


def test_weights_from_a_file_compute_what_the_network_does_with_three_equal_channels(tmp_path: Path) -> None:
    with scoped_torch_seed("file"):
        original, grey = resnet18().eval(), torch.randn(2, 1, 64, 64)
    torch.save(original.state_dict(), tmp_path / "weights.pt")
    loaded = ResNet18(weights=str(tmp_path / "weights.pt")).build(64).eval()
    original.fc = loaded.fc
    assert torch.allclose(loaded(grey), original(grey.expand(-1, 3, -1, -1)), atol=1e-4)


def test_a_first_layer_drawn_anew_keeps_the_other_weights_and_is_named_only_where_it_is(tmp_path: Path) -> None:
    """As the authors: nn.Conv2d(1, 64, 7), torch's uniform draw of ±1/√(inputs of a kernel), in ImageNet's network."""
    torch.save(resnet18().state_dict(), tmp_path / "weights.pt")
    drawn = ResNet18(weights=str(tmp_path / "weights.pt"), first_layer="random")
    with scoped_torch_seed("first"):
        state, summed = drawn.build(64).state_dict(), ResNet18(weights=drawn.weights).build(64).state_dict()
    with scoped_torch_seed("first"):
        assert torch.equal(drawn.build(64).state_dict()["conv1.weight"], state["conv1.weight"])
    changed = {name for name, value in state.items() if not torch.equal(value, summed[name])}
    assert changed == {"conv1.weight", "fc.weight", "fc.bias"}
    assert state["conv1.weight"].abs().max() <= 1 / 7
    assert state["conv1.weight"].std().item() == pytest.approx(1 / 7 / 3**0.5, rel=0.03)
    assert drawn.model_dump()["first_layer"] == "random"
    assert "first_layer" not in ResNet18().model_dump()
    assert ResNet18.model_validate(drawn.model_dump()) == drawn


@pytest.mark.parametrize(
    ("model", "side", "message"),
    [
        (ResNet18(weights="nowhere.pt"), 32, "model.weights = 'nowhere.pt'"),
        (ResNet18(weights="imagnet"), 32, "'none' or 'imagenet'. Did you mean 'imagenet'"),
        (ViTSmall(weights="imagenet"), 32, "model.weights = 'imagenet'"),
        (ViTSmall(), 70, "needs a multiple of 16"),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(model: Backbone, side: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.build(side)


@pytest.mark.parametrize(
    ("model", "published", "features", "first"),
    [
        (ResNet18(), ResNet18_Weights.IMAGENET1K_V1.meta["_ops"], 512, 112**2 * 7**2 * 64),
        (ResNet50(), ResNet50_Weights.IMAGENET1K_V2.meta["_ops"], 2048, 112**2 * 7**2 * 64),
        (ConvNeXtTiny(), ConvNeXt_Tiny_Weights.IMAGENET1K_V1.meta["_ops"], 768, 56**2 * 4**2 * 96),
    ],
    ids=["resnet18", "resnet50", "convnext_tiny"],
)
def test_multiply_adds_are_torchvisions(model: Backbone, published: float, features: int, first: int) -> None:
    """Theirs, in 10⁹, have two more channels in the first layer and 1000 classes instead of the embedding."""
    counted = multiply_adds(model, 224) + 2 * first + features * (1000 - model.embedding_dim)
    assert counted / 1e9 == pytest.approx(published, abs=0.0006)


def test_attention_is_counted_too() -> None:
    """ViT-S/16 on 224 px: patches, and 12 layers of 197 tokens with 12 width² each and twice tokens × width."""
    tokens, width = 14**2 + 1, 384
    layers = 12 * tokens * (12 * width**2 + 2 * tokens * width)
    assert multiply_adds(ViTSmall(embedding_dim=64), 224) == 14**2 * 16**2 * width + layers + width * 64


@pytest.mark.parametrize("model", [ResNet18(), ConvNeXtTiny(), ViTSmall(), SmallConvNet()])
def test_every_network_takes_three_channels(model: Backbone) -> None:
    colour = model.model_copy(update={"channels": 3})
    with scoped_torch_seed("colour"):
        network, images = colour.build(64).eval(), torch.rand(2, 3, 64, 64)
    assert network(images).shape == (2, model.embedding_dim)
    assert multiply_adds(colour, 64) > multiply_adds(model, 64)
    assert ("channels" in model.model_dump(), colour.model_dump()["channels"]) == (False, 3)
    assert type(model).model_validate(colour.model_dump()) == colour
    with pytest.raises(ValueError, match="Input should be 1 or 3"):
        BACKBONES.make(model.model_dump() | {"channels": 2})


def test_weights_for_grey_images_compute_of_three_equal_channels_what_they_do_of_one() -> None:
    with scoped_torch_seed("grey"):
        grey, images = nn.Conv2d(1, 4, 3), torch.rand(2, 1, 8, 8)
    colour = first_layer_for(3, grey)
    assert torch.allclose(colour(images.expand(-1, 3, -1, -1)), grey(images), atol=1e-6)
    assert first_layer_for(1, grey) is grey
