"""AdaTriplet loss: the triplet loss and a hinge on negative pairs (eq. 5 of the AdaTriplet paper)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import torch
from pydantic import Field

from fmim_core.losses.base import LOSSES, LossOutput, WeightlessLoss
from fmim_core.losses.triplet import Averaging, MeanHinge, TripletSelection, triplet_term
from fmim_core.margins.base import Margins
from fmim_core.triplets.similarities import Similarities


@LOSSES.register
class AdaTriplet(WeightlessLoss):
    """L = mean [φ_an − φ_ap + ε]₊ + λ mean [φ_an − β]₊; the gradients of the four regions are eq. 6.

    Selection applies only to the first term; the second also includes easy triplets.

    Args:
        lam: λ ≥ 0.
        selection, averaging: as for `Triplet`; averaging applies to each term separately.
        negative_pairs: the second mean is over each `unordered` pair once (the authors' choice), or `per_triplet`
            (eq. 5 as printed, if selection and averaging are `all`).
    """

    kind: Literal["adatriplet"] = "adatriplet"
    lam: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    selection: TripletSelection = "semihard"
    averaging: Averaging = "nonzero"
    negative_pairs: Literal["unordered", "per_triplet"] = "unordered"
    uses_beta = True

    def formula(self, batch: Similarities, margins: Margins) -> LossOutput:
        term = triplet_term(batch, margins, self.selection, self.averaging)
        both = term.plus(self._negative_term(batch, margins), self.lam)
        return LossOutput(both.at(batch.phi), both.nonzero)

    def _negative_term(self, batch: Similarities, margins: Margins) -> MeanHinge:
        """Return the averaged hinge on negative pairs."""
        index, phi = batch.index, batch.phi.detach()
        times = index.negative_pairs if self.negative_pairs == "unordered" else index.negatives_of_triplets
        beta = torch.as_tensor(margins.beta, dtype=phi.dtype)
        weights = phi.clone().gt_(beta).mul_(times)
        nonzero = weights.sum()
        count = nonzero if self.averaging == "nonzero" else times.sum()
        return MeanHinge.of(weights, -beta * nonzero, nonzero, count)

    def of_every_triplet(self) -> Self:
        """Return the formula itself, as the mean over all triplets without selection: for surfaces."""
        return self.model_copy(update={"selection": "all", "averaging": "all", "negative_pairs": "per_triplet"})
