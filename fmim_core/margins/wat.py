"""The weakly-supervised adaptive triplet margin (WAT): larger for harder triplets (Zhao et al. 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor

from fmim_core.margins.base import MARGINS, Constant, MarginConfig, Margins, MarginSchedule


@dataclass(frozen=True)
class WATMargins(Margins):
    """A margin per triplet, larger for harder ones; `epsilon` is NaN since there is no single one."""

    offset: float = 0.0

    def triplet_margin(self, delta: Tensor) -> Tensor:
        """Return β + (2 − 2Δ)/(4 − β) `(P, B)`, without gradient, as the AdaTriplet authors run it."""
        return self.offset + (2 - 2 * delta.detach()) / (4 - self.offset)


@MARGINS.register
class WAT(MarginConfig):
    """Weakly-supervised adaptive triplet margin with offset β ∈ [0, 4) (Zhao et al. 2019).

    The authors of AdaTriplet use it with the triplet loss and `selection = all`: every triplet that violates its
    margin counts, also hard ones, whatever selection the other losses use.
    """

    kind: Literal["wat"] = "wat"
    vary = False
    beta: Annotated[float, Field(ge=0, lt=4, allow_inf_nan=False)]

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError` for a loss that needs a β for its negative pairs: this schedule has none."""
        if uses_beta:
            raise ValueError("margins 'wat' give no β for negative pairs: use them with the triplet loss")

    def build(self) -> MarginSchedule:
        return Constant(WATMargins(epsilon=math.nan, offset=self.beta))
