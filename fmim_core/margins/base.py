"""The base of margin schedules: margins, their configuration, and the schedules that change them over the epochs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field
from torch import Tensor

from fmim_core.registry import KindConfig, Registry
from fmim_core.triplets.similarities import Similarities
from fmim_core.triplets.statistics import EpochStatistics

Epsilon = Annotated[float, Field(ge=0, lt=2, allow_inf_nan=False)]
"""A margin ε of the triplet term, in [0, 2)."""
Beta = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A margin β of the negative-pair term, in [0, 1]."""

Initial = Literal["measured", "released", "paper"]
"""The choices for the first epoch's margins.

measured: the schedule's own formula on the statistics of one pass over the first epoch's batches, without updates. It
needs no given value and is therefore the default.
released: ε = 0.25, β = 0, as in the configuration that the authors released.
paper: ε = 0, β = 0, as in the paper's text and Fig. 3. Semi-hard selection, 0 < Δ ≤ ε, then selects no triplet in
the first epoch, so that later margins follow from a network that the triplet term has not trained.
"""

GIVEN: Mapping[Initial, tuple[float, float]] = {"measured": (0.0, 0.0), "released": (0.25, 0.0), "paper": (0.0, 0.0)}
"""ε and β of each choice; those of `measured` hold until the pass is done."""


@dataclass(frozen=True)
class Margins:
    """The margins in force: ε of the triplet term, β of the negative-pair term (NaN where there is none).

    They are scalar tensors during training, so that nothing waits for the device, and plain numbers between epochs.
    """

    epsilon: float | Tensor
    beta: float | Tensor = math.nan

    def triplet_margin(self, delta: Tensor) -> Tensor | float:
        """Return ε for triplets of difference Δ `(P, B)`; the same for all."""
        return self.epsilon

    def held_in(self, epsilon: Tensor, beta: Tensor) -> Self:
        """Return the same margins, written to these scalars (float64): a captured step reads them from there."""
        for place, value in ((epsilon, self.epsilon), (beta, self.beta)):
            if isinstance(value, Tensor):
                place.copy_(value)
            else:
                place.fill_(value)
        return replace(self, epsilon=epsilon, beta=beta)

    def as_numbers(self) -> Self:
        """Return the same margins as plain numbers; this waits for the device."""
        return replace(self, epsilon=float(self.epsilon), beta=float(self.beta))


class MarginSchedule(ABC):
    """Margins over the epochs of one training. `margins` is in force now.

    Most schedules only define `observe`, which sets `margins` for the next epoch. A schedule that follows the batches
    also defines `for_batch`, computes on the device and sets `margins` there. A schedule with more state returns it
    from `state` and restores it in `load_state`, so that an interrupted training can resume.

    needs_values: whether `observe` reads the values of Δ and φ_an themselves, for quantiles, rather than means alone.
    measures_first: whether `observe` is called before the first epoch too, as epoch 0, with the statistics of a pass
        over that epoch's batches in which nothing is updated.
    """

    needs_values: bool = False
    measures_first: bool = False

    def __init__(self, margins: Margins) -> None:
        self.margins = margins

    def for_batch(self, batch: Similarities) -> Margins:
        """Return the margins of this batch: those in force, if a schedule does not say otherwise."""
        return self.margins

    @abstractmethod
    def observe(self, epoch: int, statistics: EpochStatistics) -> None:
        """Set the margins of the next epoch: called at the end of each one (1, 2, …), with its statistics.

        Where the schedule `measures_first`, it is called as epoch 0 as well.
        """

    def state(self) -> dict[str, Any]:
        """Return what the schedule remembers between two epochs, as plain values and tensors: its margins.

        A schedule with more to remember adds it: `super().state() | {…}`.
        """
        margins = self.margins.as_numbers()
        return {"epsilon": margins.epsilon, "beta": margins.beta}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from `state()` of a schedule of the same configuration."""
        self.margins = replace(self.margins, epsilon=state["epsilon"], beta=state["beta"])


class Constant(MarginSchedule):
    """Margins that never change."""

    def observe(self, epoch: int, statistics: EpochStatistics) -> None:
        """Learn nothing from an epoch."""


class EpochSchedule(MarginSchedule):
    """Margins that a formula makes of the statistics of the epoch before."""

    def __init__(
        self, first: Margins, formula: Callable[[EpochStatistics], Margins], initial: Initial, needs_values: bool
    ) -> None:
        super().__init__(first)
        self._formula, self.measures_first, self.needs_values = formula, initial == "measured", needs_values

    def observe(self, epoch: int, statistics: EpochStatistics) -> None:
        self.margins = self._formula(statistics)


class MarginConfig(KindConfig):
    """A margin schedule's settings. Schedules and losses do not know each other.

    gives_margins: whether it gives margins; only `none` does not. vary: whether ε and β change during a
    training; reports then draw them over the epochs.
    """

    gives_margins: ClassVar[bool] = True
    vary: ClassVar[bool] = True

    @abstractmethod
    def check(self, uses_beta: bool) -> None:
        """Raise a `ValueError` unless the margins are those that the loss needs: with β where it uses one."""

    @abstractmethod
    def build(self) -> MarginSchedule:
        """Return the schedule at the start of a training."""


MARGINS: Registry[MarginConfig] = Registry("margins", "fmim_core.margins")
"""All margin schedules, by kind."""


def check_beta(name: str, value: float | None, uses_beta: bool) -> None:
    """Raise a `ValueError` unless the field that makes β is given exactly where the loss uses β."""
    if uses_beta and value is None:
        raise ValueError(f"margins.{name} is missing: the loss uses β, so its margins must give it")
    if not uses_beta and value is not None:
        raise ValueError(f"margins.{name} = {value} has no effect: the loss uses no β; leave it out")
