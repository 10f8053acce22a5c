"""The searchers that use no results: a grid, random draws, and a Sobol sequence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from fmim_spaces.domain import Configuration, Space
from fmim_spaces.searcher import REDRAWS, History, Sampled, Searcher


class Grid(Searcher):
    """Every configuration of a space of choices.

    Grids are listed here: Optuna's GridSampler repeats points when several workers ask at once.
    """

    kind: Literal["grid"] = "grid"

    def __str__(self) -> str:
        return "grid"

    def check(self, space: Space) -> None:
        """Raise a `ValueError` for a range."""
        if not space.finite:
            ranges = ", ".join(map(str, space.ranges))
            raise ValueError(f"a grid cannot list {ranges}: use choices instead of ranges, or another searcher")

    def budget(self, space: Space) -> int:
        """Return the size of the space."""
        return space.size

    def listed(self, space: Space) -> list[Configuration]:
        """Return all configurations."""
        return list(space.configurations())

    def candidates(self, history: History) -> Iterable[Configuration]:
        """Return all configurations."""
        return self.listed(history.space)


class Random(Sampled):
    """Configurations drawn independently."""

    kind: Literal["random"] = "random"

    def suggest(self, history: History) -> Iterable[Configuration]:
        """Return random configurations."""
        return history.random(history.number)


class QMC(Sampled):
    """The points of a scrambled Sobol sequence, which fill the space evenly; best with a power of two as `samples`.

    The sequence is used in order; Optuna's QMCSampler draws its first point at random, and repeats one if two
    workers ask at once.
    """

    kind: Literal["qmc"] = "qmc"

    def suggest(self, history: History) -> Iterable[Configuration]:
        """Return the sequence behind its first points, as many as it has given of these proposals at least."""
        points = history.draws.sobol(len(history.space.parameters), history.number + REDRAWS)
        return map(history.space.at, points[history.number :])
