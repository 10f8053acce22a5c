"""Triplet loss on cosine similarities (eq. 3 of the AdaTriplet paper)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from fmim_core.config import Config
from fmim_core.losses.base import LossOutput
from fmim_core.margins.schedules import Margins
from fmim_core.triplets.selection import Averaging, Selection, count_triplets, mean_hinge
from fmim_core.triplets.similarities import Similarities


class Triplet(Config):
    """L = mean over the selected triplets of [φ_an − φ_ap + ε]₊.

    Args:
        selection: `all` triplets, or `semihard`: 0 < Δ ≤ ε (the authors' choice).
        averaging: over the `nonzero` terms (the authors' choice), or over `all` selected ones.
    """

    kind: Literal["triplet"] = "triplet"
    selection: Selection = "semihard"
    averaging: Averaging = "nonzero"
    uses_margins: ClassVar[bool] = True
    uses_beta: ClassVar[bool] = False

    def build(self, embedding_dim: int, classes: int) -> torch.nn.Module:
        return TripletLoss(self)


class TripletLoss(torch.nn.Module):
    """See `Triplet`."""

    def __init__(self, config: Triplet) -> None:
        super().__init__()
        self._selection, self._averaging = config.selection, config.averaging

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        """The loss of a batch of similarities under `margins`, and how many triplets it used."""
        value, used = triplet_term(batch, margins, self._selection, self._averaging)
        return LossOutput(value, used)


def triplet_term(
    batch: Similarities, margins: Margins, selection: Selection, averaging: Averaging
) -> tuple[Tensor, Tensor]:
    """The averaged triplet term (scalar) and the number of triplets with a non-zero term (scalar)."""
    epsilon = margins.triplet_margin(batch.delta)
    count = count_triplets(batch.delta, epsilon, selection) if averaging == "all" else None
    return mean_hinge(batch.delta, epsilon, selection, count)
