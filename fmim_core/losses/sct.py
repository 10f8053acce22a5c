"""Selectively contrastive triplet loss (Xuan et al. 2020)."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch.nn import functional

from fmim_core.losses.base import LOSSES, LossOutput, WeightlessLoss, mean_over_triplets
from fmim_core.margins.base import Margins
from fmim_core.triplets.similarities import Similarities


@LOSSES.register
class SCT(WeightlessLoss):
    """L = mean over all triplets of λ φ_an if φ_an > φ_ap, else of −log softmax(φ_ap, φ_an) at φ_ap.

    The second case is log(1 + exp(φ_an − φ_ap)). It has no margins.

    Args:
        lam: λ ≥ 0, the weight of hard negatives.
    """

    kind: Literal["sct"] = "sct"
    lam: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    uses_margins = False

    def formula(self, batch: Similarities, margins: Margins) -> LossOutput:
        """Return the loss of a batch; every triplet is active."""
        delta = batch.delta
        terms = torch.where(delta < 0, self.lam * batch.phi_an, functional.softplus(-delta))
        return LossOutput(mean_over_triplets(terms, batch.index), terms.new_full((), batch.index.triplets))
