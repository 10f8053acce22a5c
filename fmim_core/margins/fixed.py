"""Margins that are given, and stay."""

from __future__ import annotations

import math
from typing import Literal

from fmim_core.margins.base import MARGINS, Beta, Constant, Epsilon, MarginConfig, Margins, MarginSchedule, check_beta


@MARGINS.register
class FixedMargins(MarginConfig):
    """ε and β given. β is needed by losses with a negative-pair term, and left out otherwise."""

    kind: Literal["fixed"] = "fixed"
    vary = False
    epsilon: Epsilon
    beta: Beta | None = None

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError` unless β is given exactly where the loss uses it."""
        check_beta("beta", self.beta, uses_beta)

    def build(self) -> MarginSchedule:
        return Constant(Margins(self.epsilon, math.nan if self.beta is None else self.beta))
