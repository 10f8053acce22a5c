"""Margins that are quartiles of the epoch before: the paper's baselines Q1 and Q2."""

from __future__ import annotations

from typing import Literal

from fmim_core.margins.base import GIVEN, MARGINS, EpochSchedule, Initial, MarginConfig, Margins, MarginSchedule
from fmim_core.triplets.statistics import EpochStatistics, quantile


@MARGINS.register
class Quartile(MarginConfig):
    """ε = Q1 or Q2 of Δ, at least 0; β = the equally hard quantile of φ_an (Q1 ↔ 0.75, Q2 ↔ 0.5), for each epoch.

    While a quarter of all triplets have Δ ≤ 0, Q1 gives ε = 0, and semi-hard selection then selects nothing.

    Args:
        initial: the margins of the first epoch (`fmim_core.margins.base`).
    """

    kind: Literal["quartile"] = "quartile"
    quartile: Literal[1, 2]
    initial: Initial = "measured"

    def check(self, uses_beta: bool) -> None:
        """Accept any loss: β is there for those that use it."""

    def build(self) -> MarginSchedule:
        return EpochSchedule(Margins(*GIVEN[self.initial]), self.margins, self.initial, needs_values=True)

    def margins(self, statistics: EpochStatistics) -> Margins:
        """Return the margins that follow from statistics."""
        assert statistics.delta_values is not None
        assert statistics.phi_an_values is not None
        q = self.quartile / 4
        epsilon = max(0.0, quantile(statistics.delta_values, q))
        return Margins(epsilon, beta=quantile(statistics.phi_an_values, 1 - q))
