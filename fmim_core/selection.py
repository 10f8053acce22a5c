"""Triplet selection: which triplets of a batch a loss looks at, and how their terms are averaged."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Selection = Literal["all", "semihard"]
Averaging = Literal["nonzero", "all"]


def select_triplets(delta: Tensor, valid: Tensor, epsilon: Tensor | float, selection: Selection) -> Tensor:
    """Mask `(P, B)` of the selected triplets.

    all: every triplet. semihard: 0 < Δ ≤ ε, the negative is farther than the positive but within the margin
    (the authors' choice; with ε = 0 it selects nothing).
    """
    if selection == "semihard":
        return valid & (delta > 0) & (delta <= epsilon)
    return valid


def average(terms: Tensor, mask: Tensor, averaging: Averaging) -> Tensor:
    """Mean of `terms` over `mask`, or over its non-zero terms only; 0 with a zero gradient where there are none.

    Args:
        terms: non-negative hinge terms, any shape. mask: bool, same shape.
    """
    terms = torch.where(mask, terms, terms.new_zeros(()))
    count = (terms > 0).sum() if averaging == "nonzero" else mask.sum()
    return terms.sum() / count.clamp(min=1)
