"""Variances over whole pipelines against loops, and by simulation: unbiased, also where nothing or all is selection."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fmim_reports.stats import score_variance, selection_variance
from tests.oracles.statistics import score_mean_squares, unbiased_over_pairs

STUDIES = 1000


@pytest.mark.parametrize("spread", [0.0, 1.0, 3.0])
@pytest.mark.parametrize(("splits", "seeds"), [(2, 5), (5, 10)])
def test_selection_and_seed_are_unbiased(spread: float, splits: int, seeds: int) -> None:
    """Three configurations win with probability 0.6, 0.3 and 0.1; values as a study has them."""
    rng = np.random.default_rng([2, int(spread), splits])
    levels, chances = spread * np.array([0.0, 1.0, -1.0]), np.array([0.6, 0.3, 0.1])
    true = float(chances @ levels**2 - (chances @ levels) ** 2)
    found = []
    for _ in range(STUDIES):
        winners = rng.choice(3, size=splits, p=chances)
        values = {int(winners[0]): list(levels[winners[0]] + 0.5 * rng.standard_normal(seeds))}
        for winner in winners[1:]:
            if winner != winners[0]:
                values.setdefault(int(winner), []).append(levels[winner] + 0.5 * rng.standard_normal())
        one = selection_variance(winners.tolist(), values)
        found.append((one.selection, one.seed))
    mean, se = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(STUDIES)
    assert abs(mean[0] - true) < 2 * se[0]
    assert abs(mean[1] - 0.25) < 2 * se[1]


def test_selection_and_seed_by_hand_and_by_all_pairs() -> None:
    values = {"a": [1.0, 3.0], "b": [5.0], "c": [4.0, 4.5, 8.0]}
    winners = ["a", "b", "a", "c", "c"]
    found = selection_variance(winners, values)
    seed = (2.0 + (1.5**2 + 1.0**2 + 2.5**2)) / 3
    assert found.seed == pytest.approx(seed, abs=1e-12)
    assert found.selection == pytest.approx(unbiased_over_pairs(winners, values, seed), abs=1e-12)
    assert (found.splits, found.winners, found.df) == (5, 3, 3)
    assert found.share == found.selection / (found.selection + found.seed)


def test_where_all_searches_agree_the_selection_adds_nothing() -> None:
    found = selection_variance([1, 1, 1], {1: [0.5, 0.75, 1.0]})
    assert (found.selection, found.seed, found.share, found.winners) == (0.0, 0.0625, 0.0, 1)


def test_what_cannot_be_computed_is_said() -> None:
    assert selection_variance([1], {1: [0.5, 1.0]}).note == "1 search: selection and seed need at least two"
    assert selection_variance([1, 2], {1: [0.5], 2: [1.0]}).note == "no configuration has two seeds"
    assert selection_variance([1, 1], {1: [0.5, math.nan]}).note == "a test value is not a number"
    with pytest.raises(ValueError, match=r"each winner needs a test value, \['b'\] have none"):
        selection_variance(["a", "b"], {"a": [1.0, 2.0]})
    alone = score_variance({1: {0: 0.5, 1: 0.5}, 2: {0: 0.5}})
    assert (alone.rest, alone.shares) == (None, None)
    assert "1 of 2 configurations lack a score on some split" in alone.note


def test_parts_of_a_score_are_those_of_the_mean_squares() -> None:
    rng = np.random.default_rng(3)
    y = rng.standard_normal((4, 3)) + np.arange(3)
    found = score_variance({c: dict(enumerate(row)) for c, row in enumerate(y.tolist())})
    configuration, split, rest = score_mean_squares(y.tolist())
    assert found.rest == pytest.approx(rest, abs=1e-12)
    assert found.split == pytest.approx((split - rest) / 4, abs=1e-12)
    assert found.configuration == pytest.approx((configuration - rest) / 3, abs=1e-12)
    assert sum(found.shares) == pytest.approx(1, abs=1e-12)
