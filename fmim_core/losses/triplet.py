"""Triplet loss on cosine similarities (eq. 3 of the AdaTriplet paper)."""

from __future__ import annotations

from typing import Literal, Self

import torch

from fmim_core.losses.base import LOSSES, Loss, LossModule, LossOutput
from fmim_core.margins.base import Margins
from fmim_core.triplets.hinge import MeanHinge
from fmim_core.triplets.selection import Averaging, TripletSelection, count_triplets, select_triplets
from fmim_core.triplets.similarities import Similarities


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
