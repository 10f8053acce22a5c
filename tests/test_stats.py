"""Statistics of the reports: golden values (case B30, the paper's Suppl. Table 3) and simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from reports.published import grid_mean_se
from reports.stats import (
    FOLD_LABELS,
    averages_over_folds,
    by_replicate,
    equivalence,
    expected_best,
    holm,
    mean_se,
    paired_difference,
)

B30 = [0.70, 0.72, 0.71, 0.74, 0.73]


def test_mean_se_divides_by_n_minus_one() -> None:
    found = mean_se(B30)
    assert (round(found.mean, 4), round(found.se or 0, 4), found.n) == (0.72, 0.0071, 5)
    low, high = found.mean - (found.se or 0), found.mean + (found.se or 0)
    assert (round(low, 4), round(high, 4)) == (0.7129, 0.7271)


def test_rows_written_three_times_count_once() -> None:
    tripled = pd.Series(B30 * 3, index=[*range(5)] * 3)
    assert mean_se(tripled) == mean_se(B30)
    assert mean_se({seed: [value] * 3 for seed, value in enumerate(B30)}).n == 5
    assert round(mean_se(B30 * 3).se or 0, 4) == 0.0038  # what a plain list of 15 rows would have said


def test_folds_are_averaged_within_a_seed_before_the_se_over_seeds() -> None:
    folds = {seed: [value - 0.1, value, value + 0.1] for seed, value in enumerate(B30)}
    found = mean_se(folds)
    assert (round(found.mean, 4), round(found.se or 0, 4), found.n) == (0.72, 0.0071, 5)
    assert by_replicate(folds)[0] == pytest.approx(0.70)


def test_one_replicate_has_no_se_and_none_has_no_mean() -> None:
    one, none = mean_se([0.7]), mean_se({})
    assert (one.mean, one.se, one.n, one.sd) == (0.7, None, 1, None)
    assert math.isnan(none.mean)
    assert (none.se, none.n) == (None, 0)


def test_not_a_number_stays_visible_and_is_counted() -> None:
    found = mean_se([0.7, math.nan, 0.9])
    assert math.isnan(found.mean)
    assert math.isnan(found.se or 0)
    assert (found.n, found.nan) == (3, 1)


def test_mean_of_folds_and_pooled_differ_and_are_labelled() -> None:
    found = averages_over_folds([6 / 8, 0 / 2], [8, 2])
    assert (found.mean_of_folds, found.pooled) == (0.375, 0.6)
    assert FOLD_LABELS["mean_of_folds"].startswith("mean of folds")
    assert FOLD_LABELS["pooled"].startswith("pooled")
    with pytest.raises(ValueError, match="positive sizes"):
        averages_over_folds([0.5], [0])


@pytest.mark.parametrize(
    ("search", "dataset", "mean", "se", "n"),
    [
        ("grid", "OAI", 96.01, 0.29, 16),
        ("grid", "CXR", 83.06, 0.65, 16),
        ("automargin", "OAI", 96.77, 0.11, 4),
        ("automargin", "CXR", 85.495, 0.70, 4),  # printed as 85.50
    ],
)
def test_published_grid_means(search: str, dataset: str, mean: float, se: float, n: int) -> None:
    found = grid_mean_se(search, dataset)
    assert found.mean == pytest.approx(mean, abs=0.005)
    assert (round(found.se or 0, 2), found.n) == (se, n)


def test_published_se_of_oai_is_ddof_zero() -> None:
    printed = {"grid": 0.28, "automargin": 0.09}
    for search, value in printed.items():
        found = grid_mean_se(search, "OAI")
        assert round((found.se or 0) * math.sqrt((found.n - 1) / found.n), 2) == value


def test_paired_difference_is_scipys_paired_t() -> None:
    a, b = dict(enumerate([0.9, 0.8, 0.85, 0.95])), dict(enumerate([0.88, 0.81, 0.8, 0.9]))
    found = paired_difference(a, b)
    expected = scipy_stats.ttest_rel(list(a.values()), list(b.values()))
    interval = expected.confidence_interval(0.95)
    assert found.difference == pytest.approx(0.0275)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    assert (found.n, found.missing, found.note) == (4, (), "")


def test_paired_difference_pairs_by_key_not_by_position() -> None:
    a = {0: 0.9, 1: 0.5, 2: 0.7}
    found = paired_difference(a, {2: 0.6, 0: 0.8, 1: 0.4, 7: 0.1})
    assert found.difference == pytest.approx(0.1)
    assert (found.n, found.missing) == (3, (7,))
    assert "without a partner: replicate 7" in found.note


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ({}, {}, "fewer than two pairs (0)"),
        ({0: 0.9}, {0: 0.8}, "fewer than two pairs (1)"),
        ({0: 0.9, 1: 0.8}, {0: 0.8, 1: 0.7}, "no variance: all 2 differences are 0.1"),
        ({0: 0.9, 1: math.nan}, {0: 0.8, 1: 0.7}, "1 of 2 differences are not a number"),
    ],
)
def test_degenerate_pairs_are_named_and_have_no_p(a: dict[int, float], b: dict[int, float], note: str) -> None:
    found, tost = paired_difference(a, b), equivalence(a, b, 0.01)
    assert (found.low, found.high, found.p) == (None, None, None)
    assert (tost.p, tost.equivalent) == (None, None)
    assert note in found.note
    assert note in tost.note


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(20240611)
    covered = 0
    for _ in range(1000):
        a, b = rng.normal(0.02, 0.05, 5), rng.normal(0.0, 0.05, 5)
        found = paired_difference(dict(enumerate(a)), dict(enumerate(b)))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.02 <= found.high
    assert 930 <= covered <= 970


def test_equivalence_is_the_larger_of_two_one_sided_tests() -> None:
    a = {0: 0.502, 1: 0.497, 2: 0.503, 3: 0.499, 4: 0.501}
    b = dict.fromkeys(a, 0.5)
    found = equivalence(a, b, 0.01)
    d = np.array(list(a.values())) - 0.5
    lower = scipy_stats.ttest_1samp(d, -0.01, alternative="greater").pvalue
    upper = scipy_stats.ttest_1samp(d, 0.01, alternative="less").pvalue
    assert (found.p_lower, found.p_upper) == (pytest.approx(lower), pytest.approx(upper))
    assert found.p == pytest.approx(max(lower, upper))
    assert found.equivalent is True
    assert found.low is not None
    assert found.high is not None
    assert -0.01 < found.low < found.high < 0.01
    assert found.high - found.low < 2 * 0.01


def test_an_interval_that_includes_zero_is_not_equivalence() -> None:
    a, b = {0: 0.9, 1: 0.5, 2: 0.7}, {0: 0.6, 1: 0.8, 2: 0.7}
    assert (paired_difference(a, b).p or 0) > 0.9
    assert equivalence(a, b, 0.01).equivalent is False


@pytest.mark.parametrize("margin", [0.0, -0.01, math.nan, math.inf])
def test_margin_must_be_positive(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        equivalence({0: 1.0, 1: 2.0}, {0: 1.0, 1: 1.0}, margin)


def test_holm_by_hand() -> None:
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03})
    assert found.adjusted == {"a": pytest.approx(0.03), "b": pytest.approx(0.06), "c": pytest.approx(0.06)}
    assert found.rejected == {"a": True, "b": False, "c": False}
    assert holm([0.01, 0.04, 0.03]).adjusted == pytest.approx((0.03, 0.06, 0.06))


def test_holm_keeps_undefined_p_values_visible() -> None:
    found = holm([0.02, None, 0.03])
    assert found.family == 2
    assert math.isnan(found.adjusted[1])
    assert found.adjusted[0] == pytest.approx(0.04)
    assert found.note == "1 of 3 p values are undefined and not in the family"
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([1.5])


def test_expected_best_by_hand() -> None:
    found = expected_best([0.5, 0.9], [1, 2, 3])
    assert found.expected == pytest.approx((0.7, 0.8, 0.85))
    assert found.variance == pytest.approx((0.04, 0.03, 0.0175))
    assert (found.budgets, found.n) == ((1, 2, 3), 2)


def test_expected_best_agrees_with_simulation() -> None:
    scores = np.array([0.2, 0.5, 0.5, 0.7, 0.9])
    draws = np.random.default_rng(7).choice(scores, (200_000, 3)).max(axis=1)
    found = expected_best(scores, 3)
    assert found.expected[0] == pytest.approx(draws.mean(), abs=0.002)
    assert found.variance[0] == pytest.approx(draws.var(), abs=0.002)


def test_expected_best_refuses_what_it_cannot_answer() -> None:
    assert math.isnan(expected_best([0.5, math.nan], 1).expected[0])
    with pytest.raises(ValueError, match="at least 1"):
        expected_best([0.5], [0])
    with pytest.raises(ValueError, match="empty"):
        expected_best([], 1)
