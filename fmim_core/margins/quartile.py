"""Margins that are quartiles of the epoch before: the paper's baselines Q1 and Q2."""

from __future__ import annotations

from typing import Literal

from fmim_core.margins.base import GIVEN, MARGINS, Initial, MarginConfig, Margins, MarginSchedule
from fmim_core.triplets.statistics import EpochStatistics, quantile


@MARGINS.register
class Quartile(MarginConfig):
    """ε = Q1 or Q2 of Δ, not below 0; β = the quartile of φ_an as hard as that (Q1 ↔ 0.75, Q2 ↔ 0.5), per epoch.

    As long as a quarter of all triplets have Δ ≤ 0, Q1 gives ε = 0, under which semi-hard selection selects nothing.

    Args:
        initial: the margins until there are statistics of an epoch (`fmim_core.margins.base`).
    """

    kind: Literal["quartile"] = "quartile"
    quartile: Literal[1, 2]
    initial: Initial = "measured"

    def check(self, uses_beta: bool) -> None:
        """Accept any loss: β is there for those that use it."""

    def build(self) -> MarginSchedule:
        return QuartileSchedule(self)


class QuartileSchedule(MarginSchedule):
    """See `Quartile`."""

    needs_values = True

    def __init__(self, config: Quartile) -> None:
        super().__init__(Margins(*GIVEN[config.initial]))
        self._q = config.quartile / 4
        self.measures_first = config.initial == "measured"

    def observe(self, epoch: int, statistics: EpochStatistics) -> None:
        """Set the margins of the next epoch from the quantiles of this one."""
        assert statistics.delta_values is not None
        assert statistics.phi_an_values is not None
        self.margins = Margins(
            epsilon=max(0.0, quantile(statistics.delta_values, self._q)),
            beta=quantile(statistics.phi_an_values, 1 - self._q),
        )
