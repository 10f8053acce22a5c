"""Effect sizes and the probability of superiority."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from fmim_reports.stats import (
    Variances,
    effect_size,
    paired_difference,
    power_of,
    superiority,
)
from fmim_reports.stats.effects import hedges_correction
from tests.reports.stats.test_stats import MOVIES


def test_published_standardised_difference() -> None:
    """Lakens (2013), two movies rated by ten people: Cohen's d_z = 1.50."""
    found = effect_size(*MOVIES)
    assert found.d_z == pytest.approx(1.5)
    assert found.g == pytest.approx(1.5 * math.sqrt(2) / 3 * math.gamma(4.5) / math.gamma(4))
    assert found.g == pytest.approx(1.5 * (1 - 3 / (4 * 9 - 1)), abs=0.002)  # Hedges' approximation


def test_hedges_correction_in_closed_form() -> None:
    known = {2: 1 / math.sqrt(math.pi), 3: math.sqrt(math.pi / 6), 4: math.sqrt(2 / math.pi)}
    assert {m: hedges_correction(m) for m in known} == pytest.approx(known)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 40])
def test_the_interval_leaves_as_much_on_either_side(n: int) -> None:
    rng = np.random.default_rng(n)
    for shift in (-3.0, -0.1, 0.0, 0.5, 10.0):
        a, b, level = rng.normal(shift, 1, n), rng.normal(0, 1, n), rng.uniform(0.5, 0.99)
        found = effect_size(a, b, level)
        assert found.low is not None
        assert found.high is not None
        assert found.d_z is not None
        t, root = stats.ttest_rel(a, b).statistic, math.sqrt(n)
        assert t == pytest.approx(found.d_z * root, abs=1e-10)
        assert stats.nct.cdf(t, n - 1, found.low * root) == pytest.approx((1 + level) / 2, abs=1e-10)
        assert stats.nct.cdf(t, n - 1, found.high * root) == pytest.approx((1 - level) / 2, abs=1e-10)
        mirrored = effect_size(b, a, level)
        assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low), abs=1e-8)


def test_an_effect_is_shown_exactly_where_a_difference_is() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        a, b = rng.normal(0.8, 1, 6), rng.normal(0, 1, 6)
        found = effect_size(a, b)
        assert ((found.low or 0) > 0 or (found.high or 0) < 0) == ((paired_difference(a, b).p or 0) < 0.05)


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ({}, {}, "fewer than two pairs (0)"),
        ({0: 0.9}, {0: 0.8}, "fewer than two pairs (1)"),
        ({0: 0.3, 1: 0.9}, {0: 0.2, 1: 0.8}, "no variance: all 2 differences are 0.1"),
        ({0: 0.9, 1: math.nan}, {0: 0.8, 1: 0.7}, "1 of 2 differences are not a number"),
    ],
)
def test_effects_of_degenerate_pairs_are_named(a: dict[int, float], b: dict[int, float], note: str) -> None:
    found = effect_size(a, b)
    assert (found.d_z, found.g, found.low, found.high) == (None, None, None, None)
    assert note in found.note


def test_two_pairs_and_differences_that_hardly_vary_are_named() -> None:
    two = effect_size([0.8, 0.9], [0.7, 0.7])
    assert two.g is None
    assert two.d_z == pytest.approx(0.15 / math.sqrt(0.005))
    assert two.note.startswith("two pairs: Hedges' correction needs at least three")
    still = effect_size({0: 1.0, 1: 1.0000001, 2: 1.0, 5: 1}, {0: 0.0, 1: 0.0, 2: 0.0})
    assert (still.low, still.high, still.missing) == (None, None, (5,))
    assert still.note == "d_z is 1.73e+07, too large for its interval to be computed; without a partner: replicate 5"


def test_superiority_counts_pairs_and_ties_half() -> None:
    found = superiority({0: 0.9, 1: 0.8, 2: 0.3, 3: 0.5}, {0: 0.8, 1: 0.7, 2: 0.1 + 0.2, 3: 0.6, 9: 1.0})
    assert (found.probability, found.better, found.ties, found.n) == (0.625, 2, 1, 4)
    assert found.note == "1 of 4 pairs are ties and count half; without a partner: replicate 9"
    every = superiority([0.9] * 5, [0.8] * 5)
    expected = stats.binomtest(5, 5).proportion_ci(0.95, "exact")
    assert (every.low, every.high) == pytest.approx((expected.low, expected.high), abs=1e-10)
    assert (round(every.low or 0, 2), every.high) == (0.48, 1.0)
    some = superiority([1, 2, 3, 4, 5, 6, 7], [2, 1, 2, 3, 4, 5, 6], level=0.9)
    interval = stats.binomtest(6, 7).proportion_ci(0.9, "exact")
    assert (some.low, some.high) == pytest.approx((interval.low, interval.high), abs=1e-10)


def test_superiority_of_nothing_is_named() -> None:
    assert superiority({}, {}).probability is None
    assert superiority({}, {}).note.startswith("no pair that both completed")
    assert superiority([math.nan, 1.0], [0.0, 0.0]).note == "1 of 2 differences are not a number"
    assert superiority([0.5, 0.6], [0.5, 0.6]).probability == 0.5
    assert superiority([0.9], [0.8]).probability == 1.0


def test_nothing_of_this_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in ([0.5], [0.5, 0.5], [0.5, math.nan], [0.5, math.inf], [0.5, 0.6, 0.9]):
            b = [0.4] * len(a)
            effect_size(a, b)
            superiority(a, b)
            found = paired_difference(a, b)
            if found.sd is not None and found.sd > 0:
                power_of(Variances(found.sd**2), found.n, 0.01)
