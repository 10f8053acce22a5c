"""Statistics of the reports: golden values (computed by hand, the paper's Suppl. Table 3) and simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

from fmim_reports.reading.published import grid_mean_se
from fmim_reports.stats import (
    FOLD_LABELS,
    averages_over_folds,
    by_replicate,
    equivalence,
    holm,
    mean_se,
    paired_difference,
)
from fmim_reports.writing.formats import p_text
from tests.oracles import statistics as oracles

SEEDS = [0.70, 0.72, 0.71, 0.74, 0.73]
MOVIES = ([9, 7, 8, 9, 8, 9, 9, 10, 9, 9], [9, 6, 7, 8, 7, 9, 8, 8, 8, 7])


def test_mean_se_divides_by_n_minus_one() -> None:
    found = mean_se(SEEDS)
    assert (round(found.mean, 4), round(found.se or 0, 4), found.n) == (0.72, 0.0071, 5)
    low, high = found.mean - (found.se or 0), found.mean + (found.se or 0)
    assert (round(low, 4), round(high, 4)) == (0.7129, 0.7271)


def test_rows_written_three_times_count_once() -> None:
    tripled = pd.Series(SEEDS * 3, index=[*range(5)] * 3)
    assert mean_se(tripled) == mean_se(SEEDS)
    assert mean_se({seed: [value] * 3 for seed, value in enumerate(SEEDS)}).n == 5
    assert round(mean_se(SEEDS * 3).se or 0, 4) == 0.0038  # what a plain list of 15 rows would have said


def test_a_series_keeps_a_replicate_whose_key_is_missing() -> None:
    assert mean_se(pd.Series([0.7, 0.9], index=[0.0, math.nan])).n == 2


def test_folds_are_averaged_within_a_seed_before_the_se_over_seeds() -> None:
    folds = {seed: [value - 0.1, value, value + 0.1] for seed, value in enumerate(SEEDS)}
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
        ({0: 0.9, 1: math.inf}, {0: 0.8, 1: 0.7}, "1 of 2 differences are not a number"),
        ({0: 0.3, 1: 0.9, 2: 0.6}, {0: 0.2, 1: 0.8, 2: 0.5}, "no variance: all 3 differences are 0.1"),
        ({0: 1e6 + 0.1, 1: 2e6 + 0.1}, {0: 1e6, 1: 2e6}, "no variance: all 2 differences are 0.1"),
        ({0: 0.7, 1: 0.8}, {0: 0.7, 1: 0.8}, "no variance: all 2 differences are 0, so"),
    ],
)
def test_degenerate_pairs_are_named_and_have_no_p(a: dict[int, float], b: dict[int, float], note: str) -> None:
    found, tost = paired_difference(a, b), equivalence(a, b, 0.01)
    assert (found.low, found.high, found.p) == (None, None, None)
    assert (tost.p, tost.equivalent) == (None, None)
    assert note in found.note
    assert note in tost.note


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


def test_differences_of_any_scale_that_do_vary_are_tested() -> None:
    a, b = {0: 1e-9, 1: 2e-9, 2: 4e-9}, dict.fromkeys(range(3), 0.0)
    assert paired_difference(a, b).p == pytest.approx(scipy_stats.ttest_1samp([1, 2, 4], 0).pvalue)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 40])
def test_paired_tests_agree_with_scipy_and_with_the_slow_ones(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        a, b = rng.normal(0.7, 0.05, n), rng.normal(0.69, 0.05, n)
        level, margin = rng.uniform(0.5, 0.99), rng.uniform(0.001, 0.1)
        found = paired_difference(a, b, level)
        assert (found.difference, found.low, found.high, found.p) == pytest.approx(
            oracles.paired_t(a.tolist(), b.tolist(), level), abs=1e-10
        )
        expected = scipy_stats.ttest_rel(a, b)
        assert found.p == pytest.approx(expected.pvalue, abs=1e-10)
        assert tuple(expected.confidence_interval(level)) == pytest.approx((found.low, found.high), abs=1e-10)
        assert found.sd == pytest.approx(np.std(a - b, ddof=1), abs=1e-10)
        tost = equivalence(a, b, margin)
        lower = scipy_stats.ttest_1samp(a - b, -margin, alternative="greater").pvalue
        upper = scipy_stats.ttest_1samp(a - b, margin, alternative="less").pvalue
        assert (tost.p, tost.p_lower, tost.p_upper) == pytest.approx((max(lower, upper), lower, upper), abs=1e-10)
        assert tost.low is not None
        assert tost.high is not None
        assert tost.equivalent == (-margin < tost.low and tost.high < margin)


def test_published_paired_t_test() -> None:
    """Lakens (2013), two movies rated by ten people: t(9) = 4.74, p = .001, 95 % CI [0.52, 1.48]."""
    found = paired_difference(MOVIES[0], MOVIES[1])
    assert round(found.difference / (found.se or 0), 2) == 4.74
    assert (round(found.p or 0, 3), round(found.low or 0, 2), round(found.high or 0, 2)) == (0.001, 0.52, 1.48)


def test_published_paired_equivalence_test() -> None:
    """The example of pingouin's `tost`, paired, bound 0.5: p = 0.955."""
    found = equivalence([4, 7, 8, 6, 3, 2], [6, 8, 7, 10, 11, 9], 0.5)
    assert (round(found.p or 0, 3), found.equivalent) == (0.955, False)


def test_no_p_value_is_zero() -> None:
    a = 0.9 + np.random.default_rng(0).normal(0, 1e-6, 400)
    found = paired_difference(a, np.full(400, 0.1))
    assert (found.p, found.note) == (np.finfo(float).tiny, "p < 2.2e-308")
    assert p_text(found.p) == "p < 0.001"
    tost = equivalence(a, np.full(400, 0.9), 0.1)
    assert (tost.p, tost.note) == (np.finfo(float).tiny, "p < 2.2e-308")


@pytest.mark.parametrize("alpha", [0.0, 0.5, math.nan])
def test_alpha_of_equivalence_leaves_an_interval(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        equivalence({0: 1.0, 1: 2.0}, {0: 1.0, 1: 1.0}, 0.1, alpha)


def test_an_interval_that_includes_zero_is_not_equivalence() -> None:
    a, b = {0: 0.9, 1: 0.5, 2: 0.7}, {0: 0.6, 1: 0.8, 2: 0.7}
    assert (paired_difference(a, b).p or 0) > 0.9
    assert equivalence(a, b, 0.01).equivalent is False


@pytest.mark.parametrize("margin", [0.0, -0.01, math.nan, math.inf])
def test_margin_must_be_positive(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        equivalence({0: 1.0, 1: 2.0}, {0: 1.0, 1: 1.0}, margin)


@pytest.mark.usefixtures("quick_collections")
def test_holm_by_hand() -> None:
    found = holm({"a": 0.01, "b": 0.04, "c": 0.03})
    assert found.adjusted == {"a": pytest.approx(0.03), "b": pytest.approx(0.06), "c": pytest.approx(0.06)}
    assert found.rejected == {"a": True, "b": False, "c": False}
    assert holm([0.01, 0.04, 0.03]).adjusted == pytest.approx((0.03, 0.06, 0.06))


@pytest.mark.usefixtures("quick_collections")
def test_published_holm() -> None:
    """The worked example of the Holm-Bonferroni method on Wikipedia: at 0.05, H1 and H4 are rejected."""
    found = holm({"H1": 0.01, "H2": 0.04, "H3": 0.03, "H4": 0.005})
    assert [name for name, rejected in found.rejected.items() if rejected] == ["H1", "H4"]
    assert list(found.adjusted.values()) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@pytest.mark.usefixtures("quick_collections")
def test_holm_agrees_with_statsmodels_and_with_the_slow_one_also_with_ties() -> None:
    rng = np.random.default_rng(3)
    for size in (1, 2, 5, 12):
        p = np.round(rng.random(size) ** 3, 2)
        assert holm(p.tolist()).adjusted == pytest.approx(oracles.holm(p.tolist()), abs=1e-10)
        rejected, adjusted, *_ = multipletests(p, method="holm")
        assert holm(p).adjusted == pytest.approx(adjusted, abs=1e-10)
        assert holm(p).rejected == tuple(rejected)


@pytest.mark.usefixtures("quick_collections")
def test_holm_takes_a_series_or_an_iterator_and_no_test_at_all() -> None:
    assert holm(pd.Series({"a": 0.01, "b": 0.5})).adjusted == {"a": 0.02, "b": 0.5}
    assert holm(p for p in (0.01, 0.5)).adjusted == (0.02, 0.5)
    assert (holm({}).adjusted, holm([]).rejected, holm([]).family) == ({}, (), 0)


@pytest.mark.usefixtures("quick_collections")
def test_holm_keeps_undefined_p_values_visible() -> None:
    found = holm([0.02, None, 0.03])
    assert found.family == 2
    assert math.isnan(found.adjusted[1])
    assert found.adjusted[0] == pytest.approx(0.04)
    assert found.note == "1 of 3 p values are undefined and not in the family"
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([1.5])
