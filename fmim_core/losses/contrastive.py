"""Contrastive loss (Chopra et al. 2005) on Euclidean distances of unit embeddings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fmim_core.losses.base import LOSSES, Loss, LossModule
from fmim_core.losses.pml import PML

Distance = Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)]


@LOSSES.register
class Contrastive(Loss):
    """L = mean [d_p − m_pos]₊ over positive pairs + mean [m_neg − d_n]₊ over negative pairs, non-zero terms only.

    d = ‖f_i − f_j‖₂ = √(2 − 2φ_ij), in [0, 2] for unit embeddings.

    Args:
        m_pos, m_neg: the distance below which a positive pair, and above which a negative pair, has no loss.
    """

    kind: Literal["contrastive"] = "contrastive"
    m_pos: Distance
    m_neg: Distance
    uses_margins = False
    waits_for_device = True

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        params = {"pos_margin": self.m_pos, "neg_margin": self.m_neg}
        return PML(name="ContrastiveLoss", params=params).build(embedding_dim, classes)
