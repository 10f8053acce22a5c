"""The methods of a study as paragraphs: which facts and sources they have of each study of the catalogue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fmim_reports.parts.methods import methods
from fmim_reports.reading.results import read_results
from tests.support.declared import make_declared_out
from tests.support.factories import make_out
from tests.support.file_contents import edit


def value(arm: str, configuration: Mapping[str, Any]) -> float:
    return 0.7


def test_a_searched_study_says_data_protocol_search_training_and_statistics(tmp_path: Path) -> None:
    found = methods(read_results(make_out(tmp_path / "out")))
    data, protocol, training, statistics = found.plain
    assert "Of 826 images of 70 × 70 pixels, 640 of 160 subjects" in data
    assert "146 queries and a gallery of 40 images, 2 of them without a match" in data
    assert "mean validation mAP in 3-fold cross-validation" in protocol
    assert "Triplet + WAT: grid search over β of 0.1, 0.25, 0.5 and 0.75, N_s = 4;" in protocol
    assert "5 fresh seeds on all development subjects; the model of the last epoch" in protocol
    assert "ResNet-18 [he2016], with embeddings of 128 dimensions" in training
    assert "learning rate of 0.0001 and a weight decay of 0.0001, for 6 epochs of batches of 32" in training
    assert "rotation by up to 10.0°, random crop to 256 pixels, gamma of 0.5 to 1.5 (probability 0.5)" in training
    assert "Equivalence within ±1 percentage point was tested by two one-sided tests [schuirmann1987]." in statistics
    assert "Holm's method, separately for the differences and the equivalence tests" in statistics
    assert statistics.endswith("Python 3.12.3 and PyTorch 2.14.0 (commit c0ffee1 of this code) on cpu.")
    assert "\\cite{schuirmann1987}" in found.latex
    assert "% he2016: He, Zhang, Ren, Sun" in found.latex
    assert "[@he2016]" in found.markdown
    cited = ["schroff2015", "nguyen2022", "zhao2019", "he2016", "kingma2015", "schuirmann1987", "holm1979"]
    assert [source.key for source in found.sources] == cited


def test_every_searcher_and_loss_has_its_name_and_source(tmp_path: Path) -> None:
    search = methods(read_results(make_declared_out(tmp_path / "search", "automargin_vs_search", value))).plain[1]
    for cited in ("random search [bergstra2012]", "Parzen estimator [bergstra2011]", "halving [li2020]"):
        assert cited in search
    assert ",," not in search
    baselines = methods(read_results(make_declared_out(tmp_path / "baselines", "baselines", value)))
    assert "Nothing was searched: each arm had a given configuration." in baselines.plain[1]
    for cited in ("SoftTriple [qian2019]", "ArcFace [deng2019]", "SCT [xuan2020]", "Contrastive [hadsell2006]"):
        assert cited in baselines.plain[2]


def test_what_differs_between_arms_and_protocols_is_said_to(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=["triplet_automargin", "triplet_grid"])
    edit(out / "study.json", test_protocol="fold_ensemble", models_per_replicate=3, search_splits=2)
    train = json.loads((out / "study.json").read_text())["train"]
    for path in (out / "records").glob("*.json"):
        kind = "resnet50" if path.name.startswith("triplet_grid") else "user_network"
        edit(path, config=train | {"model": {"kind": kind, "embedding_dim": 64}})
    _, protocol, training, statistics = methods(read_results(out)).plain
    assert "trained by Adam [kingma2015] with a learning rate" in training
    assert "user_network or ResNet-50 [he2016], with embeddings of 64 dimensions" in training
    assert "3 models a seed, each without one fold's subjects" in protocol
    assert "repeated on 2 splits into folds" in protocol
    assert "The difference declared before the study ran" in statistics
    assert "Holm" not in statistics


def test_an_optimizer_and_a_schedule_of_torch_are_named(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=["triplet_automargin", "triplet_grid"])
    train = json.loads((out / "study.json").read_text())["train"]
    arms, versions = (json.loads((out / "study.json").read_text())[part] for part in ("arms", "environment"))
    edit(out / "study.json", train={name: value for name, value in train.items() if name != "weight_decay"})
    edit(out / "study.json", environment=versions | {"pytorch_metric_learning": "2.9.0"})
    new = {name: value for name, value in train.items() if name != "weight_decay"} | {
        "optimizer": {"kind": "torch", "name": "AdamW", "params": {"betas": [0.8, 0.99]}},
        "lr_schedule": {
            "kind": "torch",
            "name": "StepLR",
            "params": {"step_size": 3},
            "warmup_epochs": 2,
            "each": "batch",
        },
        "head_lr_factor": 10.0,
        "clip_grad_norm": 1.0,
    }
    words = (
        "PyTorch's AdamW (betas [0.8, 0.99]; learning rate by StepLR; step_size 3; warm-up epochs: 2; learning rate "
        "changed after each batch; learning rate of the last layer × 10; gradients clipped to a norm of 1)"
    )
    for first, end in (
        (train, "(by arm) with a learning rate of 0.0001 and for Adam a weight"),
        (new, "with a learning ra"),
    ):
        for path in (out / "records").glob("*.json"):
            edit(path, config=new if path.name.startswith("triplet_grid") else first)
        found = methods(read_results(out)).plain[2]
        assert "Metric Learning" not in methods(read_results(out)).plain[3]
        assert f"{'Adam [kingma2015] or ' if first is train else 'by '}{words} {end}" in found
    edit(out / "study.json", arms=[arm | {"loss_kind": "pml"} for arm in arms])
    assert "PyTorch 2.14.0 and PyTorch Metric Learning 2.9.0" in methods(read_results(out)).plain[3]
