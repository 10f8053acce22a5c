"""SoftTriple: a softmax over identities with several centres each (Qian et al. 2019)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from fmim_core.losses.base import LOSSES, Loss, LossModule
from fmim_core.losses.pml import PML

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@LOSSES.register
class SoftTriple(Loss):
    """L = mean −log softmax over classes c of la·(S_c − margin·[c = y]).

    S_c = Σ_k softmax_k(φ_k/γ) φ_k over the similarities φ_k to the centres of class c.

    Args:
        margin: the paper lists 0.01, 0.02, 0.05 and 0.1.
        centers: number of learnt centres per class. la: scale of the logits. gamma: γ.
    """

    kind: Literal["softtriple"] = "softtriple"
    margin: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    centers: PositiveInt = 10
    la: Positive = 20.0
    gamma: Positive = 0.1
    uses_margins = False
    waits_for_device = True

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        params = {"centers_per_class": self.centers, "la": self.la, "gamma": self.gamma, "margin": self.margin}
        return PML(name="SoftTripleLoss", params=params).build(embedding_dim, classes)
