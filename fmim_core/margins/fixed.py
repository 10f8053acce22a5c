"""Margins that are given and stay, and none at all."""

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


@MARGINS.register
class NoMargins(MarginConfig):
    """For losses without margins of this kind; both are shown as not-a-number."""

    kind: Literal["none"] = "none"
    gives_margins = False
    vary = False

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError`: called for a loss that needs margins."""
        raise ValueError("margins are missing: the loss needs them, e.g. kind 'fixed' or 'automargin'")

    def build(self) -> MarginSchedule:
        return Constant(Margins(math.nan, math.nan))
