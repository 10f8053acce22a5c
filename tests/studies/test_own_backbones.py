"""A study of one's own on networks of timm and of torchxrayvision, from a list, from weights files to the report."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import timm
import torch
from torchvision.models import densenet121

from fmim.catalogue.backbones import backbones_study
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim_core.models.pretrained import first_layer_for
from fmim_core.records import read_records
from fmim_core.seeding import scoped_torch_seed
from fmim_spaces.spaces import TRIPLET_K2
from tests.support.mini_study import MINI, options_in, run_here


def own_plan(timm_weights: Path, xrv_weights: Path) -> Plan:
    """AutoMargin with K = 2 alone on each of two backbones: a trial a fold and one replicate."""
    tiny = (("model.kind", "timm"), ("model.name", "test_resnet"), ("model.weights", str(timm_weights)))
    xrv = (("model.kind", "xrv_densenet121"), ("model.weights", str(xrv_weights)), ("augmentation.std", 0.5))
    study = backbones_study("my_backbones", (("tiny", "Tiny", tiny), ("xrv", "Radiographs", xrv)))
    arms = [arm.model_copy(update={"space": TRIPLET_K2}) for arm in study.arms if arm.margins_kind == "automargin"]
    study = study.model_copy(update={"arms": tuple(arms), "comparisons": (), "presets": (MINI,)})
    preset = with_changes(MINI, [("epochs", 1), ("image_size", 35), ("augmentation.crop", 32)])
    return Plan(study, preset, seed=0, replicates=1)


def write_weights(folder: Path) -> tuple[Path, Path]:
    """Random weights of both, as their libraries keep them."""
    with scoped_torch_seed("weights"):
        torch.save(timm.create_model("test_resnet").state_dict(), folder / "timm.pt")
        network = densenet121(num_classes=18)
        network.features.conv0 = first_layer_for(1, network.features.conv0)
        torch.save(network.state_dict(), folder / "xrv.pt")
    return folder / "timm.pt", folder / "xrv.pt"


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_networks_of_both_libraries_run_to_the_report_and_their_weights_are_in_the_records(tmp_path: Path) -> None:
    files = write_weights(tmp_path)
    plan, options = own_plan(*files), options_in(tmp_path)
    assert run_here(plan, options) == 0
    records = list(read_records(options.folder))
    assert {record.status for record in records} == {"completed"}
    timm_sha256, xrv_sha256 = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    known = {record.arm: record.environment.get("weights_sha256") for record in records}
    assert {name: sha256 for name, sha256 in known.items() if sha256} == {
        "tiny_automargin": timm_sha256,
        "xrv_automargin": xrv_sha256,
        "reference.untrained_network.1": timm_sha256,
        "reference.untrained_network.2": xrv_sha256,
    }
    report = (options.folder / "report" / "report.md").read_text(encoding="utf-8")
    assert "test_resnet with the pretrained weights" in report

    state = torch.load(files[0], weights_only=True)
    torch.save({name: value + 1 for name, value in state.items()}, files[0])
    with pytest.raises(ValueError, match="4 records of another plan"):
        run_here(plan, options)
