"""AutoMargin: margins from the statistics of the training itself (eqs. 7 and 8), with the paper's open choices."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import torch
from pydantic import Field, PositiveInt
from torch import Tensor

from fmim_core.margins.base import (
    GIVEN,
    MARGINS,
    EpochSchedule,
    Initial,
    MarginConfig,
    Margins,
    MarginSchedule,
    check_beta,
)
from fmim_core.triplets.similarities import Similarities
from fmim_core.triplets.statistics import EpochStatistics, quantile


@MARGINS.register
class AutoMargin(MarginConfig):
    """ε(t) = max(0, μ_Δ(t)/K_Δ), β(t) = 1 + (μ_an(t) − 1)/K_an (eqs. 7, 8).

    k_an is required for losses with a negative-pair term and must be left out for others.

    Args:
        initial: the margins of the first epoch (`fmim_core.margins.base`).
        statistic: μ is the `mean` (the paper), or the `median`.
        update: μ is computed over the previous `epoch` (the paper) or each `batch`; or the margins are a moving
            `average` over batches, ε ← momentum·ε + (1 − momentum)·ε_batch, and likewise β.
    """

    kind: Literal["automargin"] = "automargin"
    k_delta: PositiveInt
    k_an: PositiveInt | None = None
    initial: Initial = "measured"
    statistic: Literal["mean", "median"] = "mean"
    update: Literal["epoch", "batch", "average"] = "epoch"
    momentum: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.9

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError` unless K_an is given exactly where the loss uses β."""
        check_beta("k_an", self.k_an, uses_beta)

    def build(self) -> MarginSchedule:
        epsilon, beta = GIVEN[self.initial]
        first = Margins(epsilon, math.nan if self.k_an is None else beta)
        if self.update == "epoch":
            return EpochSchedule(first, self.margins, self.initial, needs_values=self.statistic == "median")
        return AutoMarginPerBatch(self, first)

    def margins(self, statistics: EpochStatistics) -> Margins:
        """Return the margins that follow from statistics: eqs. 7 and 8."""
        delta, phi_an = statistics.delta_mean, statistics.phi_an_mean
        if self.statistic == "median":
            assert statistics.delta_values is not None
            assert statistics.phi_an_values is not None
            delta, phi_an = quantile(statistics.delta_values, 0.5), quantile(statistics.phi_an_values, 0.5)
        # Written so that a mean that is not a number stays one: max(0.0, nan) would be 0.
        epsilon = 0.0 if delta < 0 else delta / self.k_delta
        return Margins(epsilon, math.nan if self.k_an is None else 1 + (phi_an - 1) / self.k_an)


class AutoMarginPerBatch(MarginSchedule):
    """See `AutoMargin`, updates `batch` and `average`; only an average remembers where it began."""

    def __init__(self, config: AutoMargin, first: Margins) -> None:
        super().__init__(first)
        self._config = config
        self.measures_first = config.update == "average" and config.initial == "measured"
        self.needs_values = self.measures_first and config.statistic == "median"

    def for_batch(self, batch: Similarities) -> Margins:
        """Return the margins of this batch, from its own similarities and, for `average`, from those before."""
        config = self._config
        epsilon = self._statistic(batch.triplet_values).clamp(min=0) / config.k_delta
        beta: Tensor | float = math.nan
        if config.k_an is not None:
            beta = 1 + (self._statistic(batch.negative_values) - 1) / config.k_an
        kept = config.momentum if config.update == "average" else 0.0
        if kept:
            epsilon = kept * self.margins.epsilon + (1 - kept) * epsilon
            beta = kept * self.margins.beta + (1 - kept) * beta
        self.margins = Margins(epsilon, beta)
        return self.margins

    def _statistic(self, values: Tensor) -> Tensor:
        """Return mean or median, in float64."""
        values = values.double()
        return values.mean() if self._config.statistic == "mean" else torch.quantile(values, 0.5)

    def observe(self, epoch: int, statistics: EpochStatistics) -> None:
        """Begin an average with what was measured; after that the batches say it all."""
        if epoch == 0:
            self.margins = self._config.margins(statistics)
