"""Triplet selection: which triplets of a batch a loss looks at, and how its hinge terms are averaged."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from fmim_core.triplets.similarities import NOT_A_TRIPLET, TripletIndex

TripletSelection = Literal["all", "semihard"]
Averaging = Literal["nonzero", "all"]


def select_triplets(delta: Tensor, selection: TripletSelection) -> Tensor:
    """Δ `(P, B)` with what must not count moved to `NOT_A_TRIPLET`, where the hinge [ε − Δ]₊ is 0 for any ε.

    all: every triplet counts. semihard: those with 0 < Δ (≤ ε, beyond which the hinge is 0 by itself): the negative
    is farther than the positive but within the margin (the authors' choice; with ε = 0 it selects nothing).
    """
    return functional.threshold(delta, 0.0, NOT_A_TRIPLET) if selection == "semihard" else delta


def count_triplets(delta: Tensor, epsilon: Tensor | float, selection: TripletSelection) -> Tensor:
    """How many triplets of Δ `(P, B)` (invalid ones near `NOT_A_TRIPLET`) are selected."""
    return ((delta > 0) & (delta <= epsilon)).sum() if selection == "semihard" else (delta < NOT_A_TRIPLET / 2).sum()


def mean_hinge(
    delta: Tensor, epsilon: Tensor | float, selection: TripletSelection = "all", count: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mean of [ε − Δ]₊ over `count` terms or else over the non-zero ones; and how many those are.

    0 with a zero gradient where there are none.

    Args:
        delta: Δ of any shape; what must not count is near `NOT_A_TRIPLET`.
        epsilon: a scalar or of the same shape; constant.
    """
    total, nonzero = _Hinge.apply(delta, epsilon, selection)
    return total / (nonzero if count is None else count).clamp(min=1), nonzero


class _Hinge(torch.autograd.Function):
    """Σ [ε − Δ]₊ of the selected, and how many of them are not 0.

    Its gradient is −1 where the term is not 0: known in the forward, so the backward has one pass over all triplets.
    """

    @staticmethod
    def forward(ctx: Any, delta: Tensor, epsilon: Tensor | float, selection: TripletSelection) -> tuple[Tensor, Tensor]:
        terms = (epsilon - select_triplets(delta, selection)).relu_()
        total, active = terms.sum(), terms.sign_()
        nonzero = active.sum()
        ctx.save_for_backward(active)
        ctx.mark_non_differentiable(nonzero)
        return total, nonzero

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        (active,) = ctx.saved_tensors
        return active * -gradient, None, None


def mean_over_triplets(terms: Tensor, index: TripletIndex) -> Tensor:
    """Mean over all triplets of terms `(P, B)` of any sign; 0 where there are none."""
    return (terms * index.valid).sum() / max(1, index.triplets)
