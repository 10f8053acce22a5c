"""The parts of a loss that have a gradient of their own, beside autograd's and finite differences."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.margins.base import Margins
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit

REGULAR = torch.arange(5).repeat_interleave(3)
IRREGULAR = torch.tensor([0, 1, 1, 2, 2, 2, 3, 0, 1, 4])


def rows(number: int, seed: int = 0) -> Tensor:
    return torch.randn(number, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def gradient_of(value: Tensor, leaf: Tensor) -> Tensor:
    return torch.autograd.grad(value, leaf)[0]


@pytest.mark.parametrize("length", [1e-9, 1e-4, 1e-3 - 1e-9, 1e-3 + 1e-9, 1.0, 50.0])
def test_unit_and_its_gradient_are_those_of_normalize(length: float) -> None:
    leaf = (length * functional.normalize(rows(4))).requires_grad_()
    weights = rows(4, seed=1)
    ours, theirs = unit(leaf), functional.normalize(leaf, dim=1, eps=1e-3)
    assert torch.allclose(ours, theirs, rtol=1e-12, atol=0)
    mine, plain = (gradient_of((side * weights).sum(), leaf) for side in (ours, theirs))
    assert torch.allclose(mine, plain, rtol=1e-9, atol=1e-9)


def test_similarities_have_the_gradient_of_the_product() -> None:
    leaf = functional.normalize(rows(len(REGULAR))).requires_grad_()
    weights = torch.randn(15, 15, dtype=torch.float64, generator=torch.Generator().manual_seed(2))  # not symmetric
    ours = Similarities.of(leaf, TripletIndex.of(REGULAR), REGULAR).phi
    assert torch.equal(ours, leaf @ leaf.T)
    mine, plain = (gradient_of((side * weights).sum(), leaf) for side in (ours, leaf @ leaf.T))
    assert torch.allclose(mine, plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("labels", "each"), [(REGULAR, 2), (IRREGULAR, 0), (torch.tensor([0, 1, 2]), 0)])
def test_a_batch_with_as_many_positives_for_all_has_the_same_triplets(labels: Tensor, each: int) -> None:
    index = TripletIndex.of(labels)
    assert index.positives_per_anchor == each
    found = []
    for one in (index, replace(index, positives_per_anchor=0)):
        leaf = rows(len(labels)).requires_grad_()
        batch = Similarities.of(unit(leaf), one, labels)
        value = AdaTriplet().build(6, 5)(batch, Margins(0.3, 0.1)).value
        found.append((batch.delta, value, gradient_of(value, leaf)))
    (delta, value, gradient), (plain_delta, plain_value, plain_gradient) = found
    assert torch.equal(delta, plain_delta)
    assert torch.equal(value, plain_value)
    assert torch.allclose(gradient, plain_gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("labels", [REGULAR, IRREGULAR, torch.tensor([0, 1, 2])])
def test_the_sum_over_chosen_triplets_is_a_sum_over_similarities(labels: Tensor) -> None:
    index = TripletIndex.of(labels)
    phi = unit(rows(len(labels))) @ unit(rows(len(labels), seed=1)).T  # not symmetric
    chosen = (index.valid & (index.delta(phi) > 0.1)).double()
    weights, number = index.weights_of(chosen)
    assert number == chosen.sum()
    assert (weights * phi).sum().item() == pytest.approx(-(chosen * index.delta(phi)).sum().item(), abs=1e-12)
