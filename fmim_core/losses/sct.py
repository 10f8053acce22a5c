"""Selectively contrastive triplet loss (Xuan et al. 2020)."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch.nn import functional

from fmim_core.losses.base import LOSSES, Loss, LossModule, LossOutput, mean_over_triplets
from fmim_core.margins.base import Margins
from fmim_core.triplets.similarities import Similarities


@LOSSES.register
class SCT(Loss):
    """L = mean over all triplets of λ φ_an where φ_an > φ_ap, else of −log softmax(φ_ap, φ_an) at φ_ap.

    The second is log(1 + exp(φ_an − φ_ap)). No margins.

    Args:
        lam: λ ≥ 0, the weight of hard negatives.
    """

    kind: Literal["sct"] = "sct"
    lam: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    uses_margins = False

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        return SCTLoss(self)


class SCTLoss(LossModule):
    """See `SCT`."""

    def __init__(self, config: SCT) -> None:
        super().__init__()
        self._lam = config.lam

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        """Return the loss of a batch; every triplet is active."""
        delta = batch.delta
        terms = torch.where(delta < 0, self._lam * batch.phi_an, functional.softplus(-delta))
        return LossOutput(mean_over_triplets(terms, batch.index), terms.new_full((), batch.index.triplets))
