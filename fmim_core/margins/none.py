"""No margins, for losses that have none."""

from __future__ import annotations

import math
from typing import Literal

from fmim_core.margins.base import MARGINS, Constant, MarginConfig, Margins, MarginSchedule


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
