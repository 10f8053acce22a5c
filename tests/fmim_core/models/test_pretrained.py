"""Weights of another training: what is read from a file, what is refused, and by what a file is known."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from fmim_core.models.pretrained import read_state
from fmim_core.models.timm_network import TimmNetwork
from fmim_core.models.torchvision_networks import ResNet18
from tests.support.paths import ROOT


def test_a_file_with_something_else_is_refused_by_its_name(tmp_path: Path) -> None:
    torch.save(nn.Linear(2, 2), tmp_path / "network.pt")
    torch.save({"epoch": 3, "state_dict": {}}, tmp_path / "checkpoint.pt")
    torch.save({"weight": torch.zeros(9999)}, tmp_path / "whole.pt")
    (tmp_path / "cut.pt").write_bytes((tmp_path / "whole.pt").read_bytes()[:9999])
    (tmp_path / "empty.pt").write_bytes(b"")
    for name in ("text.pt", "text.safetensors"):
        (tmp_path / name).write_text("hello")
    for name, message in {
        "network.pt": "has more than a state dict",
        "checkpoint.pt": "has no state dict",
        "cut.pt": "damaged",
        "empty.pt": "damaged",
        "text.pt": "damaged",
        "text.safetensors": "cannot be read as safetensors",
    }.items():
        with pytest.raises(ValueError, match=rf"{name} .*{message}"):
            read_state(tmp_path / name)


class Published(ResNet18):
    """ResNet-18 whose published weights have another address."""

    url: str

    @property
    def address(self) -> str:
        return self.url


def test_published_weights_are_found_where_torchvision_keeps_them_and_refused_if_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    torch.save(ResNet18().build(32).state_dict(), tmp_path / "weights.pth")
    whole = (tmp_path / "weights.pth").read_bytes()
    sha256 = hashlib.sha256(whole).hexdigest()
    file = tmp_path / "hub" / "checkpoints" / f"resnet18-{sha256[:8]}.pth"  # as torch names it
    file.parent.mkdir(parents=True)
    file.write_bytes(whole)
    model = Published(weights="imagenet", url=f"https://nowhere/{file.name}")
    found = model.state()
    assert found is not None
    assert torch.equal(found["fc.weight"], torch.load(file, weights_only=True)["fc.weight"])
    assert model.weights_sha256() == sha256
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for content in (b"", bytes(1000), b"<html>not here</html>", flipped, whole[:-100]):
        file.write_bytes(content)
        for ask in (model.state, model.weights_sha256):
            with pytest.raises(ValueError, match=rf"^{file} is not the file published .* Delete it"):
                ask()
        assert file.read_bytes() == content


def test_the_hubs_cache_names_files_by_their_sha256(tmp_path: Path) -> None:
    blob = tmp_path / "blobs" / hashlib.sha256(b"weights").hexdigest()
    blob.parent.mkdir()
    blob.write_bytes(b"weights")
    (tmp_path / "model.safetensors").symlink_to(blob)
    (tmp_path / "own.safetensors").write_bytes(b"weights")
    model = TimmNetwork(name="resnet18")
    assert model.published_sha256(tmp_path / "model.safetensors") == blob.name
    assert model.published_sha256(tmp_path / "own.safetensors") == ""


@pytest.mark.slow
def test_no_optional_package_is_imported_to_register_its_kind() -> None:
    code = """
import sys
from fmim_core.models.base import BACKBONES
print({"timm", "xrv_densenet121", "xrv_resnet50"} <= set(BACKBONES.kinds()))
print({"timm", "torchxrayvision", "huggingface_hub", "safetensors"} & sys.modules.keys())
sys.modules["timm"] = sys.modules["torchxrayvision"] = None  # as if they were not installed
for fields in ({"kind": "timm", "name": "resnet26d"}, {"kind": "xrv_densenet121", "weights": "densenet121-res224-all"}):
    try:
        BACKBONES.make(fields).build(32)
    except ValueError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.startswith("True\nset()\n")
    assert "pip install 'fmim-studies[timm]'" in done.stdout
    assert "pip install 'fmim-studies[xray]'" in done.stdout
