"""Triplet loss on cosine similarities (eq. 3 of the AdaTriplet paper), and what the losses of triplets share."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import torch
from torch import Tensor

from fmim_core.losses.base import LOSSES, LossOutput, WeightlessLoss
from fmim_core.margins.base import Margins
from fmim_core.triplets.similarities import NOT_A_TRIPLET, Similarities


class MeanHinge(NamedTuple):
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


@LOSSES.register
class Triplet(WeightlessLoss):
    """L = mean over the selected triplets of [φ_an − φ_ap + ε]₊.

    Args:
        selection: `all` triplets, or `semihard` ones (the authors' choice), 0 < Δ ≤ ε: the negative is farther than the
            positive but within the margin. With ε = 0 that selects nothing.
        averaging: over the `nonzero` terms (the authors' choice), or over `all` selected ones.
    """

    kind: Literal["triplet"] = "triplet"
    selection: TripletSelection = "semihard"
    averaging: Averaging = "nonzero"

    def formula(self, batch: Similarities, margins: Margins) -> LossOutput:
        term = triplet_term(batch, margins, self.selection, self.averaging)
        return LossOutput(term.at(batch.phi), term.nonzero)

    def of_every_triplet(self) -> Self:
        """Return the formula itself, as the mean over all triplets without selection: for surfaces."""
        return self.model_copy(update={"selection": "all", "averaging": "all"})


def triplet_term(batch: Similarities, margins: Margins, selection: TripletSelection, averaging: Averaging) -> MeanHinge:
    """Return the averaged triplet term."""
    index = batch.index
    delta = index.delta(batch.phi.detach())
    margin = torch.as_tensor(margins.triplet_margin(delta), dtype=delta.dtype)
    limit: Tensor | float = NOT_A_TRIPLET / 2
    if selection == "semihard":  # what is beyond ε has a hinge of 0 by itself
        delta, limit = torch.threshold_(delta, 0.0, NOT_A_TRIPLET), margin
    count = (delta <= limit).sum() if averaging == "all" else None
    active = delta.lt_(margin)  # 1 or 0
    weights, nonzero = index.weights_of(active)
    margins_of_active = (active * margin).sum() if margin.dim() else nonzero * margin
    return MeanHinge.of(weights, margins_of_active, nonzero, nonzero if count is None else count)
