"""Losses, selections and averaging against loops over triplets, gradients included; the regions of eq. 6 exactly."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.triplet import Triplet
from fmim_core.margins.base import Margins
from fmim_core.margins.wat import WATMargins
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit
from tests.oracles import losses as oracle

LABELS = [0, 0, 0, 1, 1, 2, 2, 3, 4, 0]


def random_embeddings(seed: int, labels: list[int] = LABELS) -> Tensor:
    """Float64 unit embeddings that already cluster a little, so that every branch of the losses is met."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(8, 5, generator=generator, dtype=torch.float64)
    noise = torch.randn(len(labels), 5, generator=generator, dtype=torch.float64)
    return unit(centres[labels] + noise).requires_grad_()


def similarities(e: Tensor, labels: list[int]) -> Similarities:
    classes = torch.tensor(labels)
    return Similarities.of(e, TripletIndex.of(classes), classes)


def compute(loss: Triplet | AdaTriplet, e: Tensor, labels: list[int], margins: Margins) -> tuple[Tensor, int]:
    output = loss.build(e.shape[1], 9)(similarities(e, labels), margins)
    return output.value, int(output.active)


def assert_same(ours: Tensor, theirs: Tensor, e: Tensor) -> None:
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-9)
    gradients = [torch.autograd.grad(value, e, retain_graph=True)[0] for value in (ours, theirs)]
    assert torch.allclose(*gradients, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.3])
@pytest.mark.parametrize(("selection", "averaging"), list(itertools.product(["all", "semihard"], ["nonzero", "all"])))
def test_triplet_agrees_with_its_oracle(selection: str, averaging: str, epsilon: float, seed: int) -> None:
    e = random_embeddings(seed)
    ours, _ = compute(Triplet(selection=selection, averaging=averaging), e, LABELS, Margins(epsilon))
    assert_same(ours, oracle.triplet_loss(e, LABELS, lambda _: epsilon, selection, averaging), e)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("beta", [0.1, 0.75])
@pytest.mark.parametrize("selection", ["all", "semihard"])
def test_wat_agrees_with_its_oracle(selection: str, beta: float, seed: int) -> None:
    e = random_embeddings(seed)
    ours, _ = compute(Triplet(selection=selection), e, LABELS, WATMargins(math.nan, offset=beta))
    theirs = oracle.triplet_loss(e, LABELS, lambda d: beta + (2 - 2 * d) / (4 - beta), selection, "nonzero")
    assert_same(ours, theirs, e)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("lam", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(
    ("selection", "averaging", "pairs"),
    list(itertools.product(["all", "semihard"], ["nonzero", "all"], ["unordered", "per_triplet"])),
)
def test_adatriplet_agrees_with_its_oracle(selection: str, averaging: str, pairs: str, lam: float, seed: int) -> None:
    e = random_embeddings(seed)
    loss = AdaTriplet(lam=lam, selection=selection, averaging=averaging, negative_pairs=pairs)
    ours, _ = compute(loss, e, LABELS, Margins(0.25, 0.1))
    theirs = oracle.triplet_loss(e, LABELS, lambda _: 0.25, selection, averaging)
    assert_same(ours, theirs + lam * oracle.negative_loss(e, LABELS, 0.1, pairs, averaging), e)


@pytest.mark.parametrize("lam", [0.5, 1.0, 2.0])
def test_the_four_regions_of_equation_6(lam: float) -> None:
    """∂L/∂(φ_ap, φ_an) of one triplet is (−1, 1+λ), (0, λ), (−1, 1), (0, 0)."""
    epsilon, beta = 0.25, 0.5
    regions = {  # (φ_ap, φ_an): gradient
        (0.6, 0.7): (-1.0, 1 + lam),
        (0.9, 0.6): (0.0, lam),
        (0.3, 0.2): (-1.0, 1.0),
        (0.9, 0.2): (0.0, 0.0),
    }
    loss = AdaTriplet(lam=lam, selection="all", averaging="all", negative_pairs="per_triplet").build(5, 2)
    for (ap, an), expected in regions.items():
        phi_ap = torch.tensor([[ap]], dtype=torch.float64, requires_grad=True)
        phi_an = torch.tensor([[an]], dtype=torch.float64, requires_grad=True)
        batch = Similarities.of_one_triplet(phi_ap, phi_an)
        loss(batch, Margins(epsilon, beta)).value.backward()
        assert (phi_ap.grad.item(), phi_an.grad.item()) == expected


def test_identical_embeddings_and_zero_vectors_have_finite_gradients_of_sane_size() -> None:
    raw = torch.zeros(4, 5, requires_grad=True)
    value, _ = compute(Triplet(selection="all"), unit(raw), [0, 0, 1, 1], Margins(0.25))
    value.backward()
    assert value.item() == pytest.approx(0.25)
    assert raw.grad.isfinite().all()
    assert raw.grad.abs().max() <= 1e3

    same = torch.ones(4, 5, requires_grad=True)
    compute(AdaTriplet(selection="all"), unit(same), [0, 0, 1, 1], Margins(0.25, 0.5))[0].backward()
    assert same.grad.isfinite().all()


def test_active_counts_triplets_with_a_non_zero_term() -> None:
    e = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], dtype=torch.float64)
    # φ: 01 = .6, 02 = 0, 12 = .8. Triplets (0,1,2): Δ = .6; (1,0,2): Δ = −.2.
    assert compute(Triplet(selection="all"), e, [0, 0, 1], Margins(0.25))[1] == 1
    assert compute(Triplet(selection="all"), e, [0, 0, 1], Margins(0.7))[1] == 2
    assert compute(Triplet(selection="semihard"), e, [0, 0, 1], Margins(0.7))[1] == 1
    assert compute(Triplet(selection="semihard"), e, [0, 0, 1], Margins(0.0))[1] == 0
