"""Asynchronous successive halving (Li et al. 2020): the stopping rule, and the random search that has it.

The file is also the model for your own stopping rule: the rule as data, its state, a searcher that uses it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveInt

from fmim_spaces.domain import Configuration
from fmim_spaces.searcher import History, Sampled
from fmim_spaces.stopping import StoppingRule, StoppingState


class SuccessiveHalving(StoppingRule):
    """After ⌈V / r^k⌉ of V validations, with r = reduction and k = rungs … 1, the best 1/r go on.

    Rungs are shares of the training, so that one declaration fits presets of 2 to 100 epochs.
    """

    reduction: Annotated[int, Field(ge=2)]
    rungs: PositiveInt

    def stopping_points(self, validations: int) -> tuple[int, ...]:
        """Return the rungs, in validations."""
        shares = (math.ceil(validations / self.reduction**k) for k in range(self.rungs, 0, -1))
        return tuple(sorted({point for point in shares if point < validations}))

    def start(self, validations: int, higher_is_better: bool) -> Rungs:
        """Return empty rungs."""
        return Rungs(self.stopping_points(validations), self.reduction, higher_is_better)

    def expected_share(self, validations: int, folds: int) -> float:
        """Return the share of all configurations' training on all folds that the search takes if exactly one in
        `reduction` goes on at each rung: to plan equal budgets.
        """
        ends = (*self.stopping_points(validations), validations)
        begins = (0, *ends[:-1])
        first = sum((end - begin) / self.reduction**k for k, (begin, end) in enumerate(zip(begins, ends, strict=True)))
        return (first + (folds - 1) * validations / self.reduction ** (len(ends) - 1)) / (folds * validations)

    def outlook(self, validations: int, folds: int) -> str:
        """Return the expected share in words."""
        share = self.expected_share(validations, folds)
        return f"if 1 in {self.reduction} continues at each rung, the search trains {share:.0%} of its epochs"


class Rungs(StoppingState):
    """The value of every configuration that reached a rung, and who goes on.

    A trial goes on if fewer than max(1, ⌊n / r⌋) of the n trials at its rung, itself among them, are better than it.
    This is Optuna's SuccessiveHalvingPruner with the minimum resource given; it is asynchronous: those to come have
    no say. A value that is not a number is worse than any other.
    """

    def __init__(self, points: Iterable[int], reduction: int, higher_is_better: bool) -> None:
        self._badness: dict[int, list[float]] = {point: [] for point in points}  # in order, the best first
        self._seen: dict[int, set[int]] = {point: set() for point in points}
        self._reduction, self._sign = reduction, 1 if higher_is_better else -1

    def stops(self, number: int, values: Sequence[float]) -> bool:
        """Return whether it is not among the best at a rung that it had not been seen at; it is judged once at each."""
        fresh = [rung for rung, seen in self._seen.items() if rung <= len(values) and number not in seen]
        judged = [self._among_the_best(rung, number, values[rung - 1]) for rung in fresh]
        return not all(judged)

    def _among_the_best(self, rung: int, number: int, value: float) -> bool:
        """Take in a configuration's value at a rung, and say whether it goes on from there."""
        badness, others = math.inf if math.isnan(value) else -self._sign * value, self._badness[rung]
        insort(others, badness)
        self._seen[rung].add(number)
        better = bisect_left(others, badness)
        return better < max(1, len(others) // self._reduction)


class ASHA(Sampled):
    """Random configurations stopped early by asynchronous successive halving.

    The first fold screens. At each rung (`SuccessiveHalving`) a trial continues if its value of the study's metric is
    among the best 1/reduction so far in the same arm; the best one always continues. Other trials end there.
    Configurations that survive the first fold are trained on the others, and only these can be selected.
    """

    note: ClassVar[str] = (
        "the seed fixes the configurations that ASHA tries, but not which of them it stops: that depends on the order "
        "in which parallel trials reach a rung, so another run may stop others"
    )
    kind: Literal["asha"] = "asha"
    reduction: Annotated[int, Field(ge=2)] = 3
    rungs: PositiveInt = 2

    def __str__(self) -> str:
        return f"{super().__str__()}, best 1/{self.reduction} at {self.rungs} rungs"

    def suggest(self, history: History) -> Iterable[Configuration]:
        """Return random configurations."""
        return history.random(history.number)

    @property
    def stopping_rule(self) -> SuccessiveHalving:
        """Return its rungs."""
        return SuccessiveHalving(reduction=self.reduction, rungs=self.rungs)
