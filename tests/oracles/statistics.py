"""Slow and obvious versions of the statistics, by enumeration, by loops, and by turning tests into intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import mean
from typing import Any

from scipy import stats
from scipy.optimize import brentq


def best_of_draws(scores: Sequence[float], budget: int) -> tuple[float, float]:
    """Mean and variance of the maximum over every set of `budget` scores."""
    found = [max(drawn) for drawn in combinations(scores, budget)]
    return mean(found), mean((x - mean(found)) ** 2 for x in found)


def ratio_interval(a: Sequence[float], b: Sequence[float], level: float) -> tuple[float, float]:
    """The ratios ρ at which the two-sided paired t test of a against ρ b has p = 1 − level."""
    ratio = sum(a) / sum(b)

    def excess(rho: float) -> float:
        return float(stats.ttest_rel(a, [rho * y for y in b]).pvalue) - (1 - level)

    return brentq(excess, 0.0, ratio, xtol=1e-14), brentq(excess, ratio, 100 * ratio, xtol=1e-14)


def crossed_variances(y: Sequence[Sequence[float]], subjects: Sequence[Any]) -> tuple[float, float, float, float]:
    """Mean of `y[seed][query]`, and the squared SE over seeds, subjects and both, by sums over a table of influences.

    The influence of a seed and subject is by how much its queries pull the mean away, times the number of subjects.
    """
    people, n = sorted(set(subjects)), len(y)
    theta = mean(v for row in y for v in row)
    z = [
        [
            len(people) * sum(v - theta for v, who in zip(row, subjects, strict=True) if who == s) / len(row)
            for s in people
        ]
        for row in y
    ]
    by_seed = [mean(row) for row in z]
    by_subject = [mean(row[s] for row in z) for s in range(len(people))]
    rest = [z[r][s] - by_seed[r] - by_subject[s] for r in range(n) for s in range(len(people))]
    over_seeds = sum(v * v for v in by_seed) / (n * (n - 1))
    over_subjects = sum(v * v for v in by_subject) / (len(people) * (len(people) - 1))
    alone = sum(v * v for v in rest) / ((n - 1) * (len(people) - 1)) / (n * len(people))
    both = max(over_seeds, alone) + max(over_subjects, alone) - alone
    return theta, over_seeds, over_subjects, both
