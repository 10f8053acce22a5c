"""The searchers that look at no results: a grid, random draws, and a Sobol sequence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import PositiveInt

from fmim_spaces.domain import Configuration, Space
from fmim_spaces.searcher import REDRAWS, History, Sampled, Searcher


class Grid(Searcher):
    """Every configuration of the choices; with ranges, each of them `samples` times with other draws of the ranges.

    Grids are listed here: Optuna's GridSampler repeats points when several workers ask at once.
    """

    kind: Literal["grid"] = "grid"
    samples: PositiveInt | None = None

    def __str__(self) -> str:
        return "grid"

    def check(self, space: Space) -> None:
        """Raise a `ValueError` for a range without a number of draws."""
        if not space.finite and self.samples is None:
            ranges = ", ".join(map(str, space.ranges))
            raise ValueError(
                f"a grid cannot list {ranges}: give Grid(samples=n) for n draws at each of {space.size} grid "
                "points, choices instead of ranges, or another searcher"
            )

    def budget(self, space: Space) -> int:
        """Configurations it trains."""
        return space.size if space.finite else space.size * (self.samples or 0)

    def listed(self, space: Space) -> list[Configuration] | None:
        """All configurations beforehand; None if some of their values are drawn."""
        return list(space.configurations()) if space.finite else None

    def warnings(self, space: Space) -> list[str]:
        """Draws where there is nothing to draw."""
        if not space.finite or self.samples in (None, 1):
            return []
        return [
            f"Grid(samples={self.samples}) over choices alone trains each of the {space.size} configurations once: "
            "there is nothing to draw. To repeat trainings with other seeds, use replicates (--replicates)"
        ]

    def candidates(self, history: History) -> Iterator[Configuration]:
        """The grid round after round, so that more samples later leave the first as they are; no draw comes twice."""
        point = list(history.space.configurations())[history.number % history.space.size]
        ranges = Space(ranges=history.space.ranges)
        drawn = [{name: c[name] for name in ranges.values()} for c in history.configurations]
        for draw in history.random(history.number, space=ranges):
            if draw not in drawn:
                yield point | draw


class Random(Sampled):
    """Configurations drawn independently."""

    kind: Literal["random"] = "random"

    def suggest(self, history: History) -> Iterable[Configuration]:
        """Random configurations."""
        return history.random(history.number)


class QMC(Sampled):
    """The points of a scrambled Sobol sequence, which fill the space evenly. Powers of two do so best.

    The sequence is taken as it is; Optuna's QMCSampler takes its first point at random, and one twice when two
    workers ask at once.
    """

    kind: Literal["qmc"] = "qmc"

    def suggest(self, history: History) -> Iterable[Configuration]:
        """The sequence behind its first points, as many as it has given of these proposals at least."""
        space, given = history.space, max(0, history.number - len(self.start))
        return map(space.at, history.draws.sobol(len(space.parameters), history.number + REDRAWS)[given:])
