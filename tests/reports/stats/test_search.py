"""What a search bought: expected best, best so far, areas, and ratios of costs."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest

from fmim_reports.stats import (
    area_under,
    best_so_far,
    cost_ratio,
    expected_best,
)
from tests.oracles import statistics as oracles


@pytest.mark.parametrize("scores", [[0.5], [0.2, 0.5, 0.5, 0.7], [0.9, 0.1, 0.4, 0.9, 0.3]])
def test_expected_best_is_that_of_every_subset(scores: list[float]) -> None:
    found = expected_best(scores, range(1, len(scores) + 1))
    for budget, mean, variance in zip(found.budgets, found.expected, found.variance, strict=True):
        assert (mean, variance) == pytest.approx(oracles.best_of_draws(scores, budget), abs=1e-10)
    assert (found.expected[-1], found.variance[-1]) == (max(scores), 0.0)
    lowest = expected_best(scores, range(1, len(scores) + 1), higher_is_better=False)
    for budget, mean in zip(lowest.budgets, lowest.expected, strict=True):
        assert mean == pytest.approx(np.mean([min(draw) for draw in combinations(scores, budget)]), abs=1e-10)


def test_expected_best_over_cost_pays_the_mean_cost_for_each_draw() -> None:
    found = expected_best({"a": 0.5, "b": 0.9}, [1, 2], {"b": 40.0, "a": 20.0})
    assert found.costs == (30.0, 60.0)
    with pytest.raises(ValueError, match="only one has b, c"):
        expected_best({"a": 0.5, "b": 0.9}, 1, {"a": 1.0, "c": 1.0})


def test_expected_best_refuses_what_it_cannot_answer() -> None:
    unknown = expected_best([0.5, math.nan], 1, [1.0, math.nan])
    assert math.isnan(unknown.expected[0])
    assert unknown.note == "1 of 2 scores are not a number; 1 of 2 costs are not a number"
    for scores, budgets, why in (
        *(([0.5, 0.9], budgets, "from 1 to the number of scores, 2") for budgets in ([0], [], [1.5], [math.nan], [3])),
        ([], 1, "empty"),
    ):
        with pytest.raises(ValueError, match=why):
            expected_best(scores, budgets)


def test_best_so_far_keeps_the_order_and_what_failed_is_not_the_best() -> None:
    assert best_so_far([0.3, 0.7, 0.5, math.nan, 0.9]) == (0.3, 0.7, 0.7, 0.7, 0.9)
    assert math.isnan(best_so_far([math.nan, 0.5])[0])
    assert best_so_far([0.4, math.nan, 0.6, 0.3], higher_is_better=False) == (0.4, 0.4, 0.4, 0.3)


def test_best_so_far_in_every_order_is_the_expected_best_of_draws_without_replacement() -> None:
    scores = [0.1, 0.4, 0.8, 0.5]
    found = np.mean([best_so_far(order) for order in permutations(scores)], axis=0)
    assert found == pytest.approx(expected_best(scores, range(1, 5)).expected)


def test_expected_best_is_unbiased_and_holds_for_many_scores() -> None:
    """Of uniform scores the best of b is b/(b + 1) on average; drawing with replacement gives less."""
    rng, runs, budgets = np.random.default_rng(12), 2000, (1, 3, 8, 12)
    found = np.array([expected_best(rng.random(12), budgets).expected for _ in range(runs)])
    error = found.std(axis=0, ddof=1) / math.sqrt(runs)
    true = np.array([b / (b + 1) for b in budgets])
    assert (np.abs(found.mean(axis=0) - true) < 2 * error).all()
    many = expected_best(np.arange(5001) / 5000, [1, 2500, 5001]).expected
    assert many == pytest.approx((0.5, 1.0, 1.0), abs=1e-3)  # C(5001, 2500) is no float


def test_areas_by_hand() -> None:
    x, y = [1, 2, 4], [0.2, 0.6, 0.8]
    assert area_under(x, y, 1, 4) == pytest.approx((0.4 * 1 + 0.7 * 2) / 3)
    assert area_under(x, y, 1.5, 3) == pytest.approx((0.5 * 0.5 + 0.65 * 1) / 1.5)
    assert area_under(x, y, 1, 4, steps=True) == pytest.approx((0.2 + 2 * 0.6) / 3)
    assert area_under(x, y, 1.5, 6, steps=True) == pytest.approx((0.5 * 0.2 + 2 * 0.6 + 2 * 0.8) / 4.5)
    assert area_under([1, 9], [0.7, 0.7], 2, 5) == pytest.approx(0.7)
    for low, high in ((0.5, 3), (1, 4.1), (2, 2), (3, 2), (math.nan, 3)):
        with pytest.raises(ValueError, match="must rise and lie within the budgets, 1 to 4"):
            area_under(x, y, low, high)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_interval_of_a_ratio_is_every_ratio_that_a_paired_t_test_accepts(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(10):
        slow = rng.uniform(1, 1.02, n)
        a, b = 40 * slow + rng.uniform(-1, 1, n), 10 * slow + rng.uniform(-0.1, 0.1, n)
        found = cost_ratio(a, b)
        assert found.value == pytest.approx(a.sum() / b.sum(), abs=1e-10)
        assert (found.low, found.high) == pytest.approx(oracles.ratio_interval(a, b, 0.95), rel=1e-8)


def test_ratios_without_an_interval_are_named_and_negative_costs_refused() -> None:
    for a, b, ratio, note in (
        ({}, {0: 1}, None, "no replicate that both completed; without a partner: replicate 0"),
        ({0: 4.0}, {0: 1.0}, 4.0, "fewer than two pairs (1)"),
        ({0: 4.0, 1: 8.0}, {0: 1.0, 1: 2.0}, 4.0, "no variance: the ratio is 4 in all 2 pairs"),
        ({0: 4.0, 1: 8.0}, {0: 0.0, 1: 0.0}, None, "b cost nothing: no ratio"),
        ({0: 4.0, 1: math.nan}, {0: 1.0, 1: 2.0}, None, "1 of 2 pairs have a cost that is not known"),
        ({0: 4.0, 1: 5.0}, {0: 0.0, 1: 9.0}, 1.0, "the divisor varies too much"),
    ):
        found = cost_ratio(a, b)
        assert (found.value, found.low, found.high) == (ratio, None, None)
        assert found.note.startswith(note)
    with pytest.raises(ValueError, match="negative"):
        cost_ratio([1.0, -1.0], [1.0, 1.0])
