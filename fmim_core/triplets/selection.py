"""Triplet selection: which triplets of a batch a loss looks at, and how its hinge terms are averaged."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from fmim_core.triplets.similarities import NOT_A_TRIPLET, TripletIndex

TripletSelection = Literal["all", "semihard"]
Averaging = Literal["nonzero", "all"]


def select_triplets(delta: Tensor, selection: TripletSelection) -> Tensor:
    """Move, in place, what must not count in Δ `(P, B)` to `NOT_A_TRIPLET`, where the hinge [ε − Δ]₊ is 0 for any ε.

    all: every triplet counts. semihard: those with 0 < Δ (≤ ε, beyond which the hinge is 0 by itself): the negative
    is farther than the positive but within the margin (the authors' choice; with ε = 0 it selects nothing).
    """
    return torch.threshold_(delta, 0.0, NOT_A_TRIPLET) if selection == "semihard" else delta


def count_triplets(delta: Tensor, epsilon: Tensor | float, selection: TripletSelection) -> Tensor:
    """Return how many triplets of Δ `(P, B)` (invalid ones near `NOT_A_TRIPLET`) are selected."""
    return ((delta > 0) & (delta <= epsilon)).sum() if selection == "semihard" else (delta < NOT_A_TRIPLET / 2).sum()


def mean_over_triplets(terms: Tensor, index: TripletIndex) -> Tensor:
    """Return the mean over all triplets of terms `(P, B)` of any sign; 0 where there are none."""
    return (terms * index.valid).sum() / max(1, index.triplets)
