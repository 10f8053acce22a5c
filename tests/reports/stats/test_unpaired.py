"""Unpaired differences: by hand, by simulation, and what has none."""

from __future__ import annotations

import math
from statistics import mean, variance

import numpy as np
import pytest
from scipy import stats

from fmim_reports.stats import unpaired_difference


def test_the_interval_is_welchs_by_hand() -> None:
    a, b = [0.71, 0.74, 0.69, 0.75, 0.72], {7: 0.70, 8: 0.66, 9: 0.71}
    found = unpaired_difference(a, b, level=0.9)
    of_a, of_b = variance(a) / 5, variance(b.values()) / 3
    se, df = math.sqrt(of_a + of_b), (of_a + of_b) ** 2 / (of_a**2 / 4 + of_b**2 / 2)
    reach = float(stats.t.ppf(0.95, df)) * se
    difference = mean(a) - mean(b.values())
    assert (found.n_a, found.n_b) == (5, 3)
    assert found.difference == pytest.approx(difference, abs=1e-12)
    assert (found.se, found.df) == (pytest.approx(se), pytest.approx(df))
    assert (found.low, found.high) == (pytest.approx(difference - reach), pytest.approx(difference + reach))
    assert found.p == pytest.approx(2 * float(stats.t.sf(difference / se, df)))


def test_the_interval_covers_where_spreads_and_numbers_differ() -> None:
    rng, covered = np.random.default_rng(0), 0
    for _ in range(1000):
        found = unpaired_difference(rng.normal(0, 0.01, 10), rng.normal(0.02, 0.03, 5))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= -0.02 <= found.high
    assert 0.93 <= covered / 1000 <= 0.97


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ([0.5], [0.4, 0.6], "too few replicates (1 and 2): no interval and no p value"),
        ([], [0.4, 0.6], "too few replicates (0 and 2): no interval and no p value"),
        ([0.5, math.nan], [0.4, 0.6], "1 of 4 values are not a number"),
        ([0.5, 0.5], [0.4, 0.4], "no variance: neither of the two varies, so there is no interval"),
    ],
)
def test_what_has_no_interval_says_why(a: list[float], b: list[float], note: str) -> None:
    found = unpaired_difference(a, b)
    assert (found.low, found.high, found.p, found.note) == (None, None, None, note)
