"""A study of one's own on networks of timm and of torchxrayvision, from a list, from weights files to the report."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import timm
import torch
from torchvision.models import densenet121

from fmim.catalogue.backbones import STUDY, backbones_study
from fmim.declare.changes import with_changes
from fmim.plan import Plan
from fmim_core.models.pretrained import grey_input
from fmim_core.records import read_records
from fmim_core.seeding import scoped_torch_seed
from fmim_spaces.spaces import TRIPLET_K2
from tests.support.mini_study import MINI, options_in, run_here


def own_plan(timm_weights: Path, xrv_weights: Path) -> Plan:
    """AutoMargin with K = 2 alone on each of two backbones: a trial a fold and one replicate."""
    study = backbones_study(
        "my_backbones",
        (
            (
                "tiny",
                "Tiny",
                (("model.kind", "timm"), ("model.name", "test_resnet"), ("model.weights", str(timm_weights))),
            ),
            (
                "xrv",
                "Radiographs",
                (("model.kind", "xrv_densenet121"), ("model.weights", str(xrv_weights)), ("augmentation.std", 0.5)),
            ),
        ),
    )
    arms = [arm.model_copy(update={"space": TRIPLET_K2}) for arm in study.arms if arm.margins_kind == "automargin"]
    study = study.model_copy(update={"arms": tuple(arms), "comparisons": (), "presets": (MINI,)})
    return Plan(
        study, with_changes(MINI, [("epochs", 1), ("image_size", 35), ("augmentation.crop", 32)]), seed=0, replicates=1
    )


def write_weights(folder: Path) -> tuple[Path, Path]:
    """Random weights of both, as their libraries keep them."""
    with scoped_torch_seed("weights"):
        torch.save(timm.create_model("test_resnet").state_dict(), folder / "timm.pt")
        network = densenet121(num_classes=18)
        network.features.conv0 = grey_input(network.features.conv0)
        torch.save(network.state_dict(), folder / "xrv.pt")
    return folder / "timm.pt", folder / "xrv.pt"


def test_the_catalogues_study_is_of_its_own_list() -> None:
    assert [arm.name for arm in STUDY.arms][:2] == ["resnet18_grid", "resnet18_automargin"]
    assert len(STUDY.arms) == 8
    assert STUDY.comparisons[3] == ("vit_s_16_automargin", "vit_s_16_grid")


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_networks_of_both_libraries_run_to_the_report_and_their_weights_are_in_the_records(tmp_path: Path) -> None:
    files = write_weights(tmp_path)
    plan, options = own_plan(*files), options_in(tmp_path)
    assert run_here(plan, options) == 0
    records = list(read_records(options.folder))
    assert {record.status for record in records} == {"completed"}
    sha256 = {
        kind: hashlib.sha256(file.read_bytes()).hexdigest() for kind, file in zip(("timm", "xrv"), files, strict=True)
    }
    known = {record.arm: record.environment.get("weights_sha256") for record in records}
    assert known == {
        "tiny_automargin": sha256["timm"],
        "xrv_automargin": sha256["xrv"],
        "reference.untrained_network.1": sha256["timm"],
        "reference.untrained_network.2": sha256["xrv"],
    } | {name: None for name in known if "network" not in name and name.startswith("reference")}
    report = (options.folder / "report" / "report.md").read_text(encoding="utf-8")
    assert "test_resnet with the pretrained weights" in report

    state = torch.load(files[0], weights_only=True)
    torch.save({name: value + 1 for name, value in state.items()}, files[0])
    with pytest.raises(ValueError, match="holds 4 records of another plan"):
        run_here(plan, options)
