"""ArcFace: an additive angular margin on the softmax over identities (Deng et al. 2019)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fmim_core.losses.base import LOSSES, Loss, LossModule
from fmim_core.losses.pml import PML


@LOSSES.register
class ArcFace(Loss):
    """L = mean −log softmax over classes c of s·cos(θ_c + m·[c = y]), θ_c the angle to a learnt class vector.

    Beyond θ_y + m = 180° the target's logit is s·(cos θ_y − m sin m), m in radians, and keeps falling.

    Args:
        margin_degrees: m in degrees; the paper's 5.7, 14.3, 28.6 and 43 are 0.1, 0.25, 0.5 and 0.75 radians.
        scale: s.
    """

    kind: Literal["arcface"] = "arcface"
    margin_degrees: Annotated[float, Field(ge=0, lt=180, allow_inf_nan=False)]
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 64.0
    uses_margins = False
    waits_for_device = True

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        params = {"margin": self.margin_degrees, "scale": self.scale}
        return PML(name="ArcFaceLoss", params=params).build(embedding_dim, classes)
