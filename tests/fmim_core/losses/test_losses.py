"""Losses, selections and averaging against loops from the formulas, gradients included; the regions of eq. 6."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from fmim_core.data.bank.bank import Bank
from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.arcface import ArcFace
from fmim_core.losses.base import Loss, LossOutput
from fmim_core.losses.contrastive import Contrastive
from fmim_core.losses.sct import SCT
from fmim_core.losses.softtriple import SoftTriple
from fmim_core.losses.surface import loss_surface
from fmim_core.losses.triplet import Triplet
from fmim_core.margins.base import Margins
from fmim_core.margins.wat import WATMargins
from fmim_core.training.trainer import Training
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit
from tests.conftest import tiny_config
from tests.oracles import losses as oracle

LABELS = [0, 0, 0, 1, 1, 2, 2, 3, 4, 0]
CLASSES = max(LABELS) + 1
NONE = Margins(math.nan, math.nan)


def random_embeddings(seed: int, labels: list[int] = LABELS) -> Tensor:
    """Float64 unit embeddings that already cluster a little, so that every branch of the losses is met."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(8, 5, generator=generator, dtype=torch.float64)
    noise = torch.randn(len(labels), 5, generator=generator, dtype=torch.float64)
    return unit(centres[labels] + noise).requires_grad_()


def similarities(e: Tensor, labels: list[int]) -> Similarities:
    classes = torch.tensor(labels)
    return Similarities.of(e, TripletIndex.of(classes), classes)


def compute(loss: Loss, e: Tensor, labels: list[int], margins: Margins) -> LossOutput:
    return loss.build(e.shape[1], CLASSES)(similarities(e, labels), margins)


def assert_same(ours: Tensor, theirs: Tensor, e: Tensor) -> None:
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-9)
    gradients = [torch.autograd.grad(value, e, retain_graph=True)[0] for value in (ours, theirs)]
    assert torch.allclose(*gradients, rtol=0, atol=1e-9)


# Losses of triplets ---------------------------------------------------------------------------------------------------

selections = pytest.mark.parametrize("selection", ["all", "semihard"])
averagings = pytest.mark.parametrize("averaging", ["nonzero", "all"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.3])
@selections
@averagings
def test_triplet_agrees_with_its_oracle(selection: str, averaging: str, epsilon: float, seed: int) -> None:
    e = random_embeddings(seed)
    ours = compute(Triplet(selection=selection, averaging=averaging), e, LABELS, Margins(epsilon)).value
    assert_same(ours, oracle.triplet_loss(e, LABELS, lambda _: epsilon, selection, averaging), e)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beta", [0.1, 0.75])
@selections
def test_wat_agrees_with_its_oracle(selection: str, beta: float, seed: int) -> None:
    e = random_embeddings(seed)
    ours = compute(Triplet(selection=selection), e, LABELS, WATMargins(math.nan, offset=beta)).value
    theirs = oracle.triplet_loss(e, LABELS, lambda d: beta + (2 - 2 * d) / (4 - beta), selection, "nonzero")
    assert_same(ours, theirs, e)
    delta = torch.zeros(1, 1, requires_grad=True)
    assert not WATMargins(math.nan, offset=beta).triplet_margin(delta).requires_grad


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("lam", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("pairs", ["unordered", "per_triplet"])
@selections
@averagings
def test_adatriplet_agrees_with_its_oracle(selection: str, averaging: str, pairs: str, lam: float, seed: int) -> None:
    e = random_embeddings(seed)
    loss = AdaTriplet(lam=lam, selection=selection, averaging=averaging, negative_pairs=pairs)
    theirs = oracle.triplet_loss(e, LABELS, lambda _: 0.25, selection, averaging)
    theirs = theirs + lam * oracle.negative_loss(e, LABELS, 0.1, pairs, averaging)
    assert_same(compute(loss, e, LABELS, Margins(0.25, 0.1)).value, theirs, e)


def test_active_counts_triplets_with_a_non_zero_term() -> None:
    e = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], dtype=torch.float64)
    # φ: 01 = .6, 02 = 0, 12 = .8. Triplets (0,1,2): Δ = .6; (1,0,2): Δ = −.2.
    for selection, epsilon, active in (("all", 0.25, 1), ("all", 0.7, 2), ("semihard", 0.7, 1), ("semihard", 0.0, 0)):
        assert compute(Triplet(selection=selection), e, [0, 0, 1], Margins(epsilon)).active == active


def test_zero_vectors_have_finite_gradients_of_sane_size() -> None:
    raw = torch.zeros(4, 5, requires_grad=True)
    value = compute(Triplet(selection="all"), unit(raw), [0, 0, 1, 1], Margins(0.25)).value
    value.backward()
    assert value.item() == pytest.approx(0.25)
    assert raw.grad.isfinite().all()
    assert raw.grad.abs().max() <= 1e3


@pytest.mark.parametrize(("loss", "lam"), [(Triplet(), 0.0), (AdaTriplet(lam=1.0), 1.0), (AdaTriplet(lam=2.0), 2.0)])
def test_the_surface_is_the_loss_of_every_triplet_with_the_regions_of_equation_6(loss: Loss, lam: float) -> None:
    """∂L/∂(φ_ap, φ_an) is (−1, 1+λ), (0, λ), (−1, 1), (0, 0); with λ = 0 it is the triplet loss."""
    epsilon, beta = 0.25, 0.1
    surface = loss_surface(loss, Margins(epsilon, beta), points=20)
    phi = surface["phi"]
    assert (phi[0], phi[-1], len(phi)) == (-1.0, 1.0, 20)
    for (i, an), (j, ap) in itertools.product(enumerate(phi), repeat=2):
        triplet, pair = an - ap + epsilon > 0, an > beta
        expected = max(0.0, an - ap + epsilon) + lam * max(0.0, an - beta)
        assert surface["loss"][i][j] == pytest.approx(expected, abs=1e-12)
        gradient = (surface["d_phi_ap"][i][j], surface["d_phi_an"][i][j])
        assert gradient == (-1.0 if triplet else 0.0, (1.0 if triplet else 0.0) + (lam if pair else 0.0))


# Other losses ---------------------------------------------------------------------------------------------------------

OTHERS: list[tuple[Loss, Callable[..., Tensor]]] = [
    *((SCT(lam=lam), lambda e, m, lam=lam: oracle.sct_loss(e, LABELS, lam)) for lam in (0.0, 0.5, 2.0)),
    *(
        (Contrastive(m_pos=near, m_neg=far), lambda e, m, at=(near, far): oracle.contrastive_loss(e, LABELS, *at))
        for near, far in ((0.0, 1.0), (0.5, 0.75), (1.9, 0.01))
    ),
    # The library keeps cosines 1e-7 away from ±1 before the arc cosine; no random angle is that small.
    *(
        (
            ArcFace(margin_degrees=degrees, scale=8.0),
            lambda e, m, degrees=degrees: oracle.arcface_loss(e, LABELS, m.loss.W, degrees, 8.0),
        )
        for degrees in (0.0, 5.7, 28.6, 100.0)
    ),
    *(
        (
            SoftTriple(margin=margin, centers=3),
            lambda e, m, margin=margin: oracle.softtriple_loss(e, LABELS, m.loss.fc, 3, 20.0, 0.1, margin),
        )
        for margin in (0.0, 0.02, 0.5)
    ),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("loss", "theirs"), OTHERS, ids=lambda value: getattr(value, "kind", ""))
def test_other_losses_agree_with_their_oracles(loss: Loss, theirs: Callable[..., Tensor], seed: int) -> None:
    """The library normalises once more, which only the radial part of a gradient notices: a leaf before has none."""
    leaf, module = random_embeddings(seed), loss.build(5, CLASSES).double()
    e = unit(leaf)
    assert_same(module(similarities(e, LABELS), NONE).value, theirs(e, module), leaf)


@pytest.mark.parametrize("loss", [ArcFace(margin_degrees=14.3), SoftTriple(margin=0.02)], ids=["arcface", "softtriple"])
def test_class_weights_are_trained_in_the_checkpoint_and_stay_in_single_precision(tiny_bank: Bank, loss: Loss) -> None:
    """The library alone turns them into half precision for good after one call."""
    module = loss.build(5, CLASSES)
    for half in (torch.float16, torch.bfloat16):
        module(similarities(random_embeddings(0).detach().to(half), LABELS), NONE)
    assert {weights.dtype for weights in module.parameters()} == {torch.float32}
    config = tiny_config(loss=loss.model_dump(), margins={"kind": "none"}, epochs=2)
    training = Training(config, tiny_bank.development(), None, 0, torch.device("cpu"))
    before = {name: value.clone() for name, value in training.state()["loss"].items()}
    training.run_epoch()
    after = training.state()["loss"]
    assert before.keys() == after.keys() != set()
    assert all(not torch.equal(before[name], after[name]) for name in before)
