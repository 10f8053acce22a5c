"""Networks of torchxrayvision: the same features as its own, grey values as it wants them, any side."""

from __future__ import annotations

import copy
import hashlib
import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from fmim_core.models.radiographs import RadiographDenseNet121, RadiographNetwork, RadiographResNet50
from fmim_core.seeding import scoped_torch_seed
from tests.conftest import tiny_config

with warnings.catch_warnings():  # it silences those of the whole process
    import torchxrayvision

PUBLISHED = "nih-pc-chex-mimic_ch-google-openi-kaggle-densenet121-d121-tw-lr001-rot45-tr15-sc15-seed0-best.pt"


@pytest.fixture(scope="module")
def theirs() -> nn.Module:
    """Their DenseNet-121 with random weights, and norms that are not at their first values."""
    with scoped_torch_seed("xrv"):
        network = torchxrayvision.models.DenseNet()
        network.train()(1024 * torch.rand(4, 1, 32, 32))
    return network.eval()


def images(side: int) -> Tensor:
    """Images `(3, 1, H, W)` normalised to [−1, 1]."""
    return 2 * torch.rand(3, 1, side, side, dtype=torch.float64, generator=torch.Generator().manual_seed(side)) - 1


def test_features_are_theirs_on_the_grey_values_that_they_expect(theirs: nn.Module, tmp_path: Path) -> None:
    torch.save(theirs.state_dict() | {"op_threshs": torch.zeros(18)}, tmp_path / "densenet.pt")
    network = RadiographDenseNet121(weights=str(tmp_path / "densenet.pt"), embedding_dim=24).build(32)
    network, exact = network.double().eval(), copy.deepcopy(theirs).double()
    for side in (32, 45):
        with torch.no_grad():
            expected = network[1].classifier(exact.features2(1024 * images(side)))
            found = network(images(side))
        assert found.shape == (3, 24)
        assert (found - expected).abs().max() < 1e-9 * expected.abs().max()


def test_their_resnet_keeps_torchvisions_as_its_model(tmp_path: Path) -> None:
    torch.save({"model.fc.bias": torch.ones(18), "op_threshs": torch.zeros(18)}, tmp_path / "resnet.pt")
    found = RadiographResNet50(weights=str(tmp_path / "resnet.pt")).state()
    assert found is not None
    assert {name: value.tolist() for name, value in found.items()} == {"fc.bias": [1.0] * 18}


def test_published_weights_are_theirs_from_their_cache_and_known_by_their_file(
    theirs: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / ".torchxrayvision" / "models_data" / PUBLISHED
    file.parent.mkdir(parents=True)
    torch.save(theirs, file)  # a whole network, as they publish it
    filters = list(warnings.filters)
    model = RadiographDenseNet121(weights="densenet121-res224-all", embedding_dim=24)
    network = model.build(32)[1]
    assert torch.equal(network.features.norm5.running_var, theirs.features.norm5.running_var)
    assert model.weights_sha256() == hashlib.sha256(file.read_bytes()).hexdigest()
    assert warnings.filters == filters


@pytest.mark.parametrize("model", [RadiographDenseNet121(), RadiographResNet50()], ids=lambda model: model.kind)
def test_the_names_of_weights_are_theirs(model: RadiographNetwork) -> None:
    published = {name for name in torchxrayvision.models.model_urls if name.startswith(model.kind.removeprefix("xrv_"))}
    assert set(model.published) == published
    with pytest.raises(ValueError, match=r"give the path of a weights file, or 'none' or '.*-res.*-all'"):
        model.model_copy(update={"weights": "all"}).build(32)


def test_images_of_another_range_are_refused_with_what_to_set() -> None:
    model = {"kind": "xrv_resnet50", "weights": "resnet50-res512-all"}
    with pytest.raises(ValueError, match=r"mean = 0.5 and augmentation.std = 0.5 \(given: 0.5 and 0.3\)"):
        tiny_config(model=model)
    assert tiny_config(model=model, augmentation={"crop": 24, "std": 0.5}).model.pretrained
    assert not tiny_config(model=model | {"weights": "none"}).model.pretrained
