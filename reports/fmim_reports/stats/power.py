"""The power of the tests of a comparison, the differences that they could have found, and the seeds that they need.

Everything follows from how a difference varies (`Variances`): over seeds alone, or over seeds and subjects. A spread
that was estimated from few seeds is itself uncertain, and so is all that is said here: a guide, not a bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special
from scipy.optimize import brentq

from fmim_reports.stats.mean_squares import Variances
from fmim_reports.stats.replicates import check_share

ENOUGH_POWER = 0.8
"""The power that a test should have, by convention (Cohen 1988)."""
_MANY_SEEDS = 1_000_000
_NODES = (32, 8, 4)  # of the mean squares of seeds, of which there are few, of subjects, and of the interaction


@dataclass(frozen=True)
class Needed:
    """The fewest seeds with which a test has `ENOUGH_POWER`; None where no number is enough, for want of subjects.

    [low, high] is their 80 % range: the numbers that follow if the mean squares, which so few seeds have shown, are
    larger by chance than 90 % of others would be, and than 10 %.
    """

    seeds: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True)
class Power:
    """The power of each test of a comparison with so many seeds, and the seeds it needs.

    Args:
        difference: of the t test, if the arms truly differ by the margin. equivalence: of the two one-sided tests, if
            they are truly equal.
        smallest_difference, smallest_margin: with which these would be `ENOUGH_POWER`.
        seeds_difference, seeds_equivalence: with which they would be, too.
        least_se: the SE that these subjects alone leave, however many seeds there are.
    """

    seeds: int
    margin: float
    difference: float
    equivalence: float
    smallest_difference: float
    smallest_margin: float
    seeds_difference: Needed
    seeds_equivalence: Needed
    least_se: float


@cache
def power_of(variances: Variances, seeds: int, margin: float, measured: int, alpha: float = 0.05) -> Power | None:
    """Return the power of both tests with so many seeds and such a margin of equivalence; None where nothing varies.

    `measured` is the number of seeds that have shown the variances.

    Raises:
        ValueError: fewer than two seeds, a margin that is not positive, or `alpha` outside (0, 1).
    """
    if not margin > 0:
        raise ValueError(f"margin {margin} must be a positive number, in the unit of the values (0.01 = 1 point)")
    difference, equivalence = (test.of(variances, seeds, alpha) for test in (_Difference, _Equivalence))
    if difference is None or equivalence is None:
        return None
    return Power(
        seeds=seeds,
        margin=margin,
        difference=difference.power(margin),
        equivalence=equivalence.power(margin),
        smallest_difference=_first(difference),
        smallest_margin=_first(equivalence),
        seeds_difference=_needed(_Difference, variances, margin, measured, alpha),
        seeds_equivalence=_needed(_Equivalence, variances, margin, measured, alpha),
        least_se=variances.least_se,
    )


@dataclass(frozen=True)
class _Test(ABC):
    """A test as it would come out again and again: an SE, and the t times the SE and the weight of each outcome.

    Mean squares are independent, each its expectation times χ²(df)/df, and so is the mean difference of them. They are
    taken at the nodes of a Gauss-Legendre rule in the probabilities of χ².
    """

    sides: ClassVar[int]
    se: float
    reach: np.ndarray
    weights: np.ndarray

    @abstractmethod
    def power(self, effect: float) -> float:
        """Return how often the test shows what it is for, with such a true difference or such a margin."""

    @classmethod
    def of(cls, variances: Variances, seeds: int, alpha: float) -> Self | None:
        check_share("alpha", alpha)
        if seeds < 2:
            raise ValueError(f"seeds {seeds} must be at least 2: one seed says nothing of others")
        se, _ = variances.precision(seeds)
        if not se > 0:
            return None
        expected = variances.expected(seeds)
        others = expected.differing - 1
        axes = [_chi_squares(df, n) for df, n in zip((seeds - 1, others, (seeds - 1) * others), _NODES, strict=True)]
        a, b, c = np.meshgrid(*(factor for factor, _ in axes), indexing="ij")
        weights = np.einsum("i,j,k->ijk", *(weight for _, weight in axes))
        squares: Any = {"seed": expected.seed * a, "subject": expected.subject * b}
        shown, df = replace(expected, **squares, interaction=expected.interaction * c).over_both()
        return cls(se, special.stdtrit(df, 1 - alpha / cls.sides) * shown, weights)


class _Difference(_Test):
    """The two-sided t test of a true difference: |d̄| > t s."""

    sides = 2

    def power(self, effect: float) -> float:
        beyond = sum(special.ndtr((sign * effect - self.reach) / self.se) for sign in (1, -1))
        return float((self.weights * beyond).sum())


class _Equivalence(_Test):
    """The two one-sided t tests of equal arms within a margin: |d̄| < margin − t s (Schuirmann 1987)."""

    sides = 1

    def power(self, effect: float) -> float:
        within = 2 * special.ndtr((effect - self.reach) / self.se) - 1
        return float((self.weights * np.maximum(within, 0)).sum())


def _chi_squares(df: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return χ²(df)/df at so many nodes, and their weights; 1 where there are no degrees of freedom."""
    if df == 0:
        return np.ones(1), np.ones(1)
    x, weights = np.polynomial.legendre.leggauss(nodes)
    return special.chdtri(df, (1 - x) / 2) / df, weights / 2


def _needed(test: type[_Test], variances: Variances, margin: float, measured: int, alpha: float) -> Needed:
    """Return the seeds that a test needs, and their range if so many seeds have shown the variances."""
    seen = variances.expected(measured)
    ends = (seen.at(share).variances() for share in (0.9, 0.1))
    return Needed(*(_seeds_needed(test, each, margin, alpha) for each in (variances, *ends)))


def _seeds_needed(test: type[_Test], variances: Variances, margin: float, alpha: float) -> int | None:
    """Return the fewest seeds with which a test has a power of `ENOUGH_POWER`; None if no number of them does."""

    def enough(seeds: int) -> bool:
        found = test.of(variances, seeds, alpha)
        return found is None or found.power(margin) >= ENOUGH_POWER

    high = 2
    while not enough(high):  # power rises with them
        if high > _MANY_SEEDS:
            return None
        high *= 2
    low = high // 2 + 1
    return low + bisect_left(range(low, high), True, key=enough)


def _first(test: _Test) -> float:
    """Return the smallest effect at which a power that rises with it is `ENOUGH_POWER`, from one SE upwards."""
    high = test.se
    while test.power(high) < ENOUGH_POWER:
        high *= 2
    return float(brentq(lambda effect: test.power(effect) - ENOUGH_POWER, 0.0, high, xtol=1e-12 * test.se))
