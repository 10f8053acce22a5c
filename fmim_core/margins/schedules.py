"""Margin schedules: each sees the statistics of the epoch before and says the margins of the next.

To add one: a `Config` with a `kind`, `check` and `build`, a schedule class, and its line in `MarginConfig`
(`train_config.py`). AutoMargin has a file of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Protocol, Self

from pydantic import Field
from torch import Tensor

from fmim_core.config import Config
from fmim_core.triplets.similarities import Similarities
from fmim_core.triplets.statistics import EpochStatistics, quantile

Epsilon = Annotated[float, Field(ge=0, lt=2, allow_inf_nan=False)]
Beta = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


@dataclass(frozen=True)
class Margins:
    """The margins in force: ε of the triplet term, β of the negative-pair term (NaN where there is none).

    Scalar tensors during training, so that the device need not be waited for; plain numbers between epochs.
    """

    epsilon: float | Tensor
    beta: float | Tensor = math.nan

    def triplet_margin(self, delta: Tensor) -> Tensor | float:
        """ε for triplets of difference Δ `(P, B)`; the same for all."""
        return self.epsilon

    def held_in(self, epsilon: Tensor, beta: Tensor) -> Self:
        """The same margins, written to these scalars (float64): a captured step reads them from there."""
        for place, value in ((epsilon, self.epsilon), (beta, self.beta)):
            if isinstance(value, Tensor):
                place.copy_(value)
            else:
                place.fill_(value)
        return replace(self, epsilon=epsilon, beta=beta)

    def as_numbers(self) -> Self:
        """The same margins as plain numbers; waits for the device."""
        return replace(self, epsilon=float(self.epsilon), beta=float(self.beta))


@dataclass(frozen=True)
class WATMargins(Margins):
    """A margin per triplet, larger for harder ones; `epsilon` is NaN since there is no single one."""

    offset: float = 0.0

    def triplet_margin(self, delta: Tensor) -> Tensor:
        """β + (2 − 2Δ)/(4 − β) `(P, B)`, without gradient (Zhao et al. 2019, as the AdaTriplet authors run it)."""
        return self.offset + (2 - 2 * delta.detach()) / (4 - self.offset)


class MarginSchedule(Protocol):
    """Margins over the epochs. `margins` is in force now; `observe` is called once, at the end of each epoch.

    `for_batch` says the margins of one batch; most schedules say `margins`, whatever the batch; one that follows the
    batches computes on the device and sets `margins`. A schedule has no state but its margins: setting them is how a
    stopped training goes on.
    """

    needs_values: bool
    margins: Margins

    def for_batch(self, batch: Similarities) -> Margins: ...

    def observe(self, statistics: EpochStatistics) -> None: ...


class PerEpoch:
    """What schedules have in common that change their margins at the end of an epoch, or never."""

    needs_values = False

    def __init__(self, margins: Margins) -> None:
        self.margins = margins

    def for_batch(self, batch: Similarities) -> Margins:
        """The margins in force."""
        return self.margins


class Constant(PerEpoch):
    """Margins that never change."""

    def observe(self, statistics: EpochStatistics) -> None:
        """Nothing to learn from an epoch."""


class NoMargins(Config):
    """For losses without margins of this kind; both are shown as not-a-number."""

    kind: Literal["none"] = "none"

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError`: called for a loss that needs margins."""
        raise ValueError("margins are missing: the loss needs them, e.g. kind 'fixed' or 'automargin'")

    def build(self) -> MarginSchedule:
        return Constant(Margins(math.nan, math.nan))


class FixedMargins(Config):
    """ε and β given. β is needed by losses with a negative-pair term, and left out otherwise."""

    kind: Literal["fixed"] = "fixed"
    epsilon: Epsilon
    beta: Beta | None = None

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError` unless β is given exactly where the loss uses it."""
        check_beta("beta", self.beta, uses_beta)

    def build(self) -> MarginSchedule:
        return Constant(Margins(self.epsilon, math.nan if self.beta is None else self.beta))


class WAT(Config):
    """Weakly-supervised adaptive triplet margin with offset β ∈ [0, 4) (Zhao et al. 2019)."""

    kind: Literal["wat"] = "wat"
    beta: Annotated[float, Field(ge=0, lt=4, allow_inf_nan=False)]

    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError` for a loss that needs a β for its negative pairs: this schedule has none."""
        if uses_beta:
            raise ValueError("margins 'wat' give no β for negative pairs: use them with the triplet loss")

    def build(self) -> MarginSchedule:
        return Constant(WATMargins(epsilon=math.nan, offset=self.beta))


class Quartile(Config):
    """ε = Q1 or Q2 of Δ, not below 0; β = the quartile of φ_an as hard as that (Q1 ↔ 0.75, Q2 ↔ 0.5), per epoch."""

    kind: Literal["quartile"] = "quartile"
    quartile: Literal[1, 2]
    initial_epsilon: Epsilon = 0.0
    initial_beta: Beta = 0.0

    def check(self, uses_beta: bool) -> None:
        """Any loss will do: β is there for those that use it."""

    def build(self) -> MarginSchedule:
        return QuartileSchedule(self)


class QuartileSchedule(PerEpoch):
    """See `Quartile`."""

    needs_values = True

    def __init__(self, config: Quartile) -> None:
        super().__init__(Margins(config.initial_epsilon, config.initial_beta))
        self._q = config.quartile / 4

    def observe(self, statistics: EpochStatistics) -> None:
        """Set the margins of the next epoch from the quantiles of this one."""
        assert statistics.delta_values is not None
        assert statistics.phi_an_values is not None
        self.margins = Margins(
            epsilon=max(0.0, quantile(statistics.delta_values, self._q)),
            beta=quantile(statistics.phi_an_values, 1 - self._q),
        )


def check_beta(name: str, value: float | None, uses_beta: bool) -> None:
    """Raise a `ValueError` unless the field that makes β is given exactly where the loss uses β."""
    if uses_beta and value is None:
        raise ValueError(f"margins.{name} is missing: the loss uses β, so its margins must give it")
    if not uses_beta and value is not None:
        raise ValueError(f"margins.{name} = {value} has no effect: the loss uses no β; leave it out")
