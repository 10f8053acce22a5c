"""Triplet loss on cosine similarities (eq. 3 of the AdaTriplet paper), and what the losses of triplets share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor

from fmim_core.losses.base import LOSSES, Loss, LossModule, LossOutput
from fmim_core.margins.base import Margins
from fmim_core.triplets.similarities import NOT_A_TRIPLET, Similarities


@dataclass(frozen=True)
class MeanHinge:
    """The mean of hinge terms of φ `(B, B)`, each of which is linear where it is not 0: Σ W φ + c.

    W and c are constant, so that the value and its gradient need one product over `(B, B)`, however many triplets the
    terms are of.

    weights: W `(B, B)`. constant: c (scalar). nonzero: how many terms are not 0 (scalar). All without gradient.
    """

    weights: Tensor
    constant: Tensor
    nonzero: Tensor

    @classmethod
    def of(cls, weights: Tensor, constant: Tensor, nonzero: Tensor, count: Tensor) -> MeanHinge:
        """Return (Σ W φ + c)/count; 0 where there are no terms."""
        count = count.clamp(min=1)
        return cls(weights / count, constant / count, nonzero)

    def plus(self, other: MeanHinge, factor: float) -> MeanHinge:
        """Return the sum of this and `factor` times the other; `nonzero` stays this one's."""
        weights = self.weights.add(other.weights, alpha=factor)
        return MeanHinge(weights, self.constant + factor * other.constant, self.nonzero)

    def at(self, phi: Tensor) -> Tensor:
        """Return its value for φ `(B, B)` (scalar, with gradient)."""
        return (self.weights * phi).sum() + self.constant


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


@LOSSES.register
class Triplet(Loss):
    """L = mean over the selected triplets of [φ_an − φ_ap + ε]₊.

    Args:
        selection: `all` triplets, or `semihard`: 0 < Δ ≤ ε (the authors' choice).
        averaging: over the `nonzero` terms (the authors' choice), or over `all` selected ones.
    """

    kind: Literal["triplet"] = "triplet"
    selection: TripletSelection = "semihard"
    averaging: Averaging = "nonzero"

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        return TripletLoss(self)

    def of_every_triplet(self) -> Self:
        """Return the formula itself, as the mean over all triplets without selection: for surfaces."""
        return self.model_copy(update={"selection": "all", "averaging": "all"})


class TripletLoss(LossModule):
    """See `Triplet`."""

    def __init__(self, config: Triplet) -> None:
        super().__init__()
        self._selection, self._averaging = config.selection, config.averaging

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        term = triplet_term(batch, margins, self._selection, self._averaging)
        return LossOutput(term.at(batch.phi), term.nonzero)


def triplet_term(batch: Similarities, margins: Margins, selection: TripletSelection, averaging: Averaging) -> MeanHinge:
    """Return the averaged triplet term."""
    index = batch.index
    delta = index.delta(batch.phi.detach())
    margin = torch.as_tensor(margins.triplet_margin(delta), dtype=delta.dtype)
    selected = select_triplets(delta, selection)
    count = count_triplets(selected, margin, selection) if averaging == "all" else None
    active = selected.lt_(margin)  # 1 or 0
    weights, nonzero = index.weights_of(active)
    margins_of_active = (active * margin).sum() if margin.dim() else nonzero * margin
    return MeanHinge.of(weights, margins_of_active, nonzero, nonzero if count is None else count)
