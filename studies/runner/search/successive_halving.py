"""Asynchronous successive halving: which trials go on at a rung."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fmim_core.training.trainer import Row


class Rungs:
    """The validation mAP of every configuration that reached a rung, and who goes on.

    A trial goes on if fewer than max(1, ⌊n / r⌋) of the n trials at its rung, itself among them, are better than it.
    This is Optuna's SuccessiveHalvingPruner with the minimum resource given; it is asynchronous: those to come have
    no say.
    """

    def __init__(self, epochs: Iterable[int], reduction: int) -> None:
        self._values: dict[int, dict[int, float]] = {epoch: {} for epoch in epochs}
        self._reduction = reduction

    def see(self, number: int, history: Sequence[Row]) -> list[int]:
        """Take in a configuration's history; returns the rungs it had not been seen at."""
        fresh = [rung for rung, seen in self._values.items() if rung <= len(history) and number not in seen]
        for rung in fresh:
            value = history[rung - 1]["validation_mAP"]
            self._values[rung][number] = -math.inf if math.isnan(value) else value
        return fresh

    def goes_on(self, number: int, history: Sequence[Row]) -> bool:
        """Whether a configuration with this history goes on; it is judged once at each rung."""
        return all(self._among_the_best(rung, number) for rung in self.see(number, history))

    def _among_the_best(self, rung: int, number: int) -> bool:
        values = self._values[rung]
        better = sum(value > values[number] for value in values.values())
        return better < max(1, len(values) // self._reduction)
