"""Slow and obvious versions of the statistics, by enumeration, by loops, and by turning tests into intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def unbiased_over_pairs(winners: Sequence[Any], values: Mapping[Any, Sequence[float]], seed: float) -> float:
    """The selection's variance as half the mean squared difference of the winners of all pairs of searches.

    A squared difference of two means is too large by the variance of each, seed / m.
    """
    means = {winner: sum(values[winner]) / len(values[winner]) for winner in winners}
    halves = []
    for first in range(len(winners)):
        for second in range(first):
            a, b = winners[first], winners[second]
            noise = 0.0 if a == b else seed / len(values[a]) + seed / len(values[b])
            halves.append(((means[a] - means[b]) ** 2 - noise) / 2)
    return sum(halves) / len(halves)


def score_mean_squares(y: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """The mean squares of rows, columns and the rest of a table, cell by cell."""
    rows, columns = range(len(y)), range(len(y[0]))
    whole = sum(y[r][c] for r in rows for c in columns) / (len(rows) * len(columns))
    by_row = [sum(y[r][c] for c in columns) / len(columns) for r in rows]
    by_column = [sum(y[r][c] for r in rows) / len(rows) for c in columns]
    of_rows = sum((by_row[r] - whole) ** 2 for r in rows for _ in columns) / (len(rows) - 1)
    of_columns = sum((by_column[c] - whole) ** 2 for _ in rows for c in columns) / (len(columns) - 1)
    rest = sum((y[r][c] - by_row[r] - by_column[c] + whole) ** 2 for r in rows for c in columns)
    return of_rows, of_columns, rest / ((len(rows) - 1) * (len(columns) - 1))
