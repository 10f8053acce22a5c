"""Triplet loss on cosine similarities (eq. 3 of the AdaTriplet paper)."""

from __future__ import annotations

from typing import Literal, Self

from torch import Tensor

from fmim_core.losses.base import LOSSES, Loss, LossModule, LossOutput
from fmim_core.margins.base import Margins
from fmim_core.triplets.selection import Averaging, TripletSelection, count_triplets, mean_hinge
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
        """The formula itself, as the mean over all triplets without selection: for surfaces."""
        return self.model_copy(update={"selection": "all", "averaging": "all"})


class TripletLoss(LossModule):
    """See `Triplet`."""

    def __init__(self, config: Triplet) -> None:
        super().__init__()
        self._selection, self._averaging = config.selection, config.averaging

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        """The loss of a batch of similarities under `margins`, and how many triplets are active."""
        value, active = triplet_term(batch, margins, self._selection, self._averaging)
        return LossOutput(value, active)


def triplet_term(
    batch: Similarities, margins: Margins, selection: TripletSelection, averaging: Averaging
) -> tuple[Tensor, Tensor]:
    """The averaged triplet term (scalar) and the number of triplets with a non-zero term (scalar)."""
    epsilon = margins.triplet_margin(batch.delta)
    count = count_triplets(batch.delta, epsilon, selection) if averaging == "all" else None
    return mean_hinge(batch.delta, epsilon, selection, count)
