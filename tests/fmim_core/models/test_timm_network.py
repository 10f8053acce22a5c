"""Networks of timm: names, shapes, nothing drawn, one channel, and weights from files and from the hub's cache."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from safetensors.torch import save_file
from torch import nn

from fmim_core.models.base import BACKBONES, multiply_adds
from fmim_core.models.timm_network import TimmNetwork
from fmim_core.seeding import scoped_torch_seed
from fmim_core.training.step import rehearse_model
from tests.conftest import tiny_config


def original(name: str) -> nn.Module:
    """timm's own network of three channels, its random weights of few bits, so that sums over colours are exact."""
    with scoped_torch_seed("timm", name), torch.no_grad():
        network = timm.create_model(name)
        for value in network.state_dict().values():
            if value.is_floating_point():
                value.copy_((value * 1024).round() / 1024)
    return network.eval()


def grey(side: int) -> torch.Tensor:
    return torch.randn(2, 1, side, side, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def embeddings(model: TimmNetwork, images: torch.Tensor) -> torch.Tensor:
    with torch.no_grad(), scoped_torch_seed("embedding"):
        return model.build(images.shape[-1]).double().eval()(images)


@pytest.mark.parametrize("name", ["fasternet_t1", "ghostnet_050"])
def test_a_network_draws_nothing_in_training_and_embeds_grey_images(name: str) -> None:
    """By default the one has stochastic depth, and the other dropout in a functional form."""
    with scoped_torch_seed("models"):
        network, images = TimmNetwork(name=name, embedding_dim=24).build(64), torch.randn(4, 1, 64, 64)
    before = torch.get_rng_state()
    assert network.train()(images).shape == (4, 24)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(("name", "ending"), [("test_resnet", "pt"), ("test_vit", "safetensors")])
def test_weights_from_a_file_compute_what_the_network_does_with_three_equal_channels(
    name: str, ending: str, tmp_path: Path
) -> None:
    colour, file = original(name), tmp_path / f"weights.{ending}"
    (save_file if ending == "safetensors" else torch.save)(colour.state_dict(), file)
    images = grey(timm.get_pretrained_cfg(name).input_size[1])
    model = TimmNetwork(name=name, weights=str(file), embedding_dim=24)
    with scoped_torch_seed("embedding"):
        head = model.build(images.shape[-1]).get_classifier()
    colour.reset_classifier(24)
    colour.get_classifier().load_state_dict(head.state_dict())
    with torch.no_grad():
        expected = colour.double().eval()(images.expand(-1, 3, -1, -1))
    assert (embeddings(model, images) - expected).abs().max() < 1e-9
    assert expected.abs().max() > 0.01


def test_a_first_layer_drawn_anew_is_the_one_that_timm_names(tmp_path: Path) -> None:
    torch.save(original("test_resnet").state_dict(), tmp_path / "weights.pt")
    one = TimmNetwork(name="test_resnet", weights=str(tmp_path / "weights.pt"))
    with scoped_torch_seed("first"):
        anew, summed = (
            model.build(64).state_dict() for model in (one.model_copy(update={"first_layer": "random"}), one)
        )
    changed = {name for name, value in anew.items() if not torch.equal(value, summed[name])}
    assert changed == {"conv1.0.weight", "fc.weight", "fc.bias"}


def test_published_weights_are_found_in_the_hubs_cache_and_known_by_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    folder, revision = tmp_path / "models--timm--test_resnet.r160_in1k", "0" * 40
    for place in (folder / "refs", folder / "snapshots" / revision):
        place.mkdir(parents=True)
    (folder / "refs" / "main").write_text(revision)
    file = folder / "snapshots" / revision / "model.safetensors"
    save_file(original("test_resnet").state_dict(), file)
    model = TimmNetwork(name="test_resnet", weights="pretrained")
    assert model.weights_sha256() == hashlib.sha256(file.read_bytes()).hexdigest()
    assert model.given_file is None
    from_file = TimmNetwork(name="test_resnet", weights=str(file))
    assert torch.equal(embeddings(model, grey(32)), embeddings(from_file, grey(32)))
    assert "state_dict" not in model.build(32).pretrained_cfg


@pytest.mark.parametrize("side", [32, 64])
def test_a_vit_sees_the_whole_image_or_says_which_sides_it_takes(side: int, tmp_path: Path) -> None:
    torch.save(original("test_vit").state_dict(), tmp_path / "vit.pt")  # for images of 160 px
    for weights in ("none", str(tmp_path / "vit.pt")):
        model = TimmNetwork(name="test_vit", weights=weights)
        assert model.build(side).pos_embed.shape[1] == (side // 16) ** 2 + 1
    with pytest.raises(ValueError, match=r"augmentation.crop = 70: test_vit needs a multiple of 16"):
        model.build(70)


def test_what_timm_does_not_have_is_refused_when_the_training_is_described() -> None:
    with pytest.raises(ValueError, match=r"model\.name\n.*no model 'resnet26b'; .*Did you mean 'resnet26"):
        tiny_config(model={"kind": "timm", "name": "resnet26b"})
    with pytest.raises(ValueError, match=r"timm has no model 'resnet18.none_such'"):
        BACKBONES.make({"kind": "timm", "name": "resnet18.none_such"})
    assert BACKBONES.make({"kind": "timm", "name": "resnet18.a1_in1k"}).title == "resnet18.a1_in1k"


def test_a_network_that_cannot_do_what_is_asked_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"model.weights = 'pretrained' .*no such file; give .*, or 'none'$"):
        TimmNetwork(name="legacy_seresnet18", weights="pretrained").build(32)
    with torch.device("meta"), pytest.raises(ValueError, match="it has no classifier"):
        TimmNetwork(name="mobilenetv5_300m_enc").build(64)
    torch.save(original("test_convnext").state_dict(), tmp_path / "convnext.pt")
    with pytest.raises((KeyError, RuntimeError), match=r"conv1\.0\.weight"):  # of another network
        TimmNetwork(name="test_resnet", weights=str(tmp_path / "convnext.pt")).build(32)
    rehearse_model(TimmNetwork(name="inception_v4"), 96)
    with pytest.raises(ValueError, match=r"cannot embed images of 64 px: change augmentation.crop.*Kernel size can't"):
        rehearse_model(TimmNetwork(name="inception_v4"), 64)


def test_counting_reads_no_weights() -> None:
    def counted(**settings: Any) -> int:
        return multiply_adds(TimmNetwork(name="test_resnet", **settings), 32)

    assert counted(embedding_dim=24) == counted(embedding_dim=24, weights="nowhere.pt")
    assert counted(embedding_dim=25) - counted(embedding_dim=24) == timm.create_model("test_resnet").num_features
