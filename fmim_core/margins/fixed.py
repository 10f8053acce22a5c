"""Margins that are given and stay, and none at all."""

from __future__ import annotations

import math
from typing import Literal

from fmim_core.margins.base import MARGINS, Beta, Constant, Epsilon, MarginConfig, Margins, MarginSchedule, check_beta


@MARGINS.register
class FixedMargins(MarginConfig):
    """Given ε and β. β is required for losses with a negative-pair term and must be left out for others."""

    kind: Literal["fixed"] = "fixed"
    vary = False
    epsilon: Epsilon
    beta: Beta | None = None

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError` unless β is given exactly where the loss uses it."""
        check_beta("beta", self.beta, uses_beta)

    def build(self) -> MarginSchedule:
        return Constant(Margins(self.epsilon, math.nan if self.beta is None else self.beta))


@MARGINS.register
class NoMargins(MarginConfig):
    """No margins, for losses that use none; ε and β are NaN in records."""

    kind: Literal["none"] = "none"
    gives_margins = False
    vary = False

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError`: called for a loss that needs margins."""
        raise ValueError("margins are missing: the loss needs them, e.g. kind 'fixed' or 'automargin'")

    def build(self) -> MarginSchedule:
        return Constant(Margins(math.nan, math.nan))
