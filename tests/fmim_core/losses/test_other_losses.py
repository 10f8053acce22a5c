"""SCT, Contrastive, ArcFace and SoftTriple against loops from their papers' formulas; their weights stay float32."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.arcface import ArcFace
from fmim_core.losses.base import Loss
from fmim_core.losses.contrastive import Contrastive
from fmim_core.losses.sct import SCT
from fmim_core.losses.softtriple import SoftTriple
from fmim_core.losses.triplet import Triplet
from fmim_core.margins.base import Margins
from fmim_core.training.trainer import Training, train
from fmim_core.triplets.similarities import unit
from tests.conftest import tiny_config
from tests.fmim_core.losses.test_losses import LABELS, assert_same, random_embeddings, similarities
from tests.oracles import losses as oracle

NONE = Margins(math.nan, math.nan)
CLASSES = max(LABELS) + 1

EVERY: list[tuple[Loss, dict[str, Any]]] = [
    (Triplet(), {"kind": "fixed", "epsilon": 0.25}),
    (Triplet(), {"kind": "wat", "beta": 0.1}),
    (AdaTriplet(), {"kind": "fixed", "epsilon": 0.25, "beta": 0.5}),
    (SCT(lam=1.0), {"kind": "none"}),
    (Contrastive(m_pos=0.5, m_neg=0.75), {"kind": "none"}),
    (ArcFace(margin_degrees=14.3), {"kind": "none"}),
    (SoftTriple(margin=0.02), {"kind": "none"}),
]


def leaf_and_unit(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Embeddings before and after normalisation: the library normalises once more, which only the radial part of a
    gradient notices, and training has none of that."""
    leaf = random_embeddings(seed)
    return leaf, unit(leaf)


names = [loss.kind for loss, _ in EVERY]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lam", [0.0, 0.5, 2.0])
def test_sct_agrees_with_its_oracle(lam: float, seed: int) -> None:
    leaf, e = leaf_and_unit(seed)
    ours = SCT(lam=lam).build(5, CLASSES)(similarities(e, LABELS), NONE).value
    assert_same(ours, oracle.sct_loss(e, LABELS, lam), leaf)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("m_pos", "m_neg"), [(0.0, 1.0), (0.5, 0.75), (1.9, 0.01)])
def test_contrastive_is_on_euclidean_distances_and_agrees_with_its_oracle(
    m_pos: float, m_neg: float, seed: int
) -> None:
    leaf, e = leaf_and_unit(seed)
    ours = Contrastive(m_pos=m_pos, m_neg=m_neg).build(5, CLASSES)(similarities(e, LABELS), NONE).value
    assert_same(ours, oracle.contrastive_loss(e, LABELS, m_pos, m_neg), leaf)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("degrees", [0.0, 5.7, 28.6, 100.0])
def test_arcface_takes_degrees_and_agrees_with_its_oracle(degrees: float, seed: int) -> None:
    leaf, e = leaf_and_unit(seed)
    module = ArcFace(margin_degrees=degrees, scale=8.0).build(5, CLASSES).double()
    ours = module(similarities(e, LABELS), NONE).value
    # The library keeps cosines 1e-7 away from ±1 before the arc cosine; no random angle is that small.
    assert_same(ours, oracle.arcface_loss(e, LABELS, module.loss.W, degrees, 8.0), leaf)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("margin", [0.0, 0.02, 0.5])
def test_softtriple_agrees_with_its_oracle(margin: float, seed: int) -> None:
    leaf, e = leaf_and_unit(seed)
    module = SoftTriple(margin=margin, centers=3).build(5, CLASSES).double()
    ours = module(similarities(e, LABELS), NONE).value
    assert_same(ours, oracle.softtriple_loss(e, LABELS, module.loss.fc, 3, 20.0, 0.1, margin), leaf)


@pytest.mark.parametrize(("loss", "margins"), EVERY, ids=names)
def test_every_loss_trains_to_more_than_chance(tiny_bank: Bank, loss: Loss, margins: dict[str, Any]) -> None:
    config = tiny_config(loss=loss.model_dump(), margins=margins, epochs=12, learning_rate=3e-3)
    result = train(config, tiny_bank, folds=2, seed=1)
    assert all(math.isfinite(row.loss) for row in result.history)
    assert result.validation["mAP"] > 1.25 * result.validation["chance_mAP"]


@pytest.mark.parametrize("loss", [ArcFace(margin_degrees=14.3), SoftTriple(margin=0.02)], ids=["arcface", "softtriple"])
@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_class_weights_stay_in_single_precision(loss: Loss, half: torch.dtype) -> None:
    """The library alone turns them into half precision for good after one call."""
    module = loss.build(5, CLASSES)
    module(similarities(random_embeddings(0).detach().to(half), LABELS), NONE)
    assert {weights.dtype for weights in module.parameters()} == {torch.float32}


@pytest.mark.parametrize("loss", [ArcFace(margin_degrees=14.3), SoftTriple(margin=0.02)], ids=["arcface", "softtriple"])
def test_class_weights_are_trained_and_in_the_checkpoint(tiny_bank: Bank, loss: Loss) -> None:
    config = tiny_config(loss=loss.model_dump(), margins={"kind": "none"}, epochs=2)
    training = Training(config, tiny_bank.development(), None, 0, torch.device("cpu"))
    before = {name: value.clone() for name, value in training.state()["loss"].items()}
    training.run_epoch()
    after = training.state()["loss"]
    assert before.keys() == after.keys() != set()
    assert all(not torch.equal(before[name], after[name]) for name in before)
