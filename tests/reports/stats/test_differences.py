"""Differences, equivalence and Holm's correction: golden and published values, slow versions, and simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import mean, variance

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fmim_reports.stats import (
    Uncertainty,
    equivalence,
    holm,
    paired_difference,
    smallest_margins,
    superiority,
    unpaired_difference,
)
from fmim_reports.stats.differences import hedges_correction
from fmim_reports.writing.formats import p_text

pytestmark = pytest.mark.filterwarnings("error")
MOVIES = ([9, 7, 8, 9, 8, 9, 9, 10, 9, 9], [9, 6, 7, 8, 7, 9, 8, 8, 8, 7])
SIZES = (3, 5, 10)
OWN = 0.03


@pytest.mark.parametrize("n", [2, 3, 5, 10, 40])
def test_paired_tests_agree_with_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        a, b = rng.normal(0.7, 0.05, n), rng.normal(0.69, 0.05, n)
        level, margin = rng.uniform(0.5, 0.99), rng.uniform(0.001, 0.1)
        found, expected = paired_difference(a, b, level), stats.ttest_rel(a, b)
        assert found.difference == pytest.approx(np.mean(a) - np.mean(b), abs=1e-10)
        assert found.p == pytest.approx(expected.pvalue, abs=1e-10)
        assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval(level)), abs=1e-10)
        assert found.sd == pytest.approx(np.std(a - b, ddof=1), abs=1e-10)
        assert found.uncertainty.p(found.difference) == pytest.approx(found.p, abs=1e-10)
        tost = equivalence(a, b, margin)
        lower = stats.ttest_1samp(a - b, -margin, alternative="greater").pvalue
        upper = stats.ttest_1samp(a - b, margin, alternative="less").pvalue
        assert (tost.p, tost.p_lower, tost.p_upper) == pytest.approx((max(lower, upper), lower, upper), abs=1e-10)
        assert found.uncertainty.equivalence_p(found.difference, margin) == pytest.approx(tost.p, abs=1e-10)
        assert tost.low is not None
        assert tost.high is not None
        assert tost.equivalent == (-margin < tost.low and tost.high < margin)
    assert (Uncertainty().p(0.1), Uncertainty().equivalence_p(0.1, 0.02)) == (None, None)


def test_the_smallest_margin_is_that_at_which_the_corrected_p_value_is_alpha() -> None:
    rng = np.random.default_rng(3)
    pairs = [(rng.normal(shift, 0.01, 6), np.zeros(6)) for shift in (0.0, 0.01, -0.02)]
    found = [paired_difference(*pair) for pair in pairs]

    def within(value: float, uncertainty: Uncertainty) -> Callable[[float], float | None]:
        return lambda margin: uncertainty.equivalence_p(value, margin)

    keyed = {name: within(one.difference, one.uncertainty) for name, one in enumerate(found)}
    (alone,) = smallest_margins({0: keyed[0]}).values()
    interval = equivalence(*pairs[0], margin=1.0)  # 90 %
    assert interval.low is not None
    assert interval.high is not None
    assert alone == pytest.approx(max(-interval.low, interval.high))
    margins = smallest_margins(keyed)
    for name, margin in margins.items():
        p = holm({other: equivalence(*pair, margin).p for other, pair in enumerate(pairs)}).adjusted
        assert p[name] == pytest.approx(0.05)
    assert margins[0] < margins[1] < margins[2]
    wide, none = within(0.5, Uncertainty(0.2, 1)), within(0.1, Uncertainty())
    assert smallest_margins({"wide": wide, "none": none}) == {"wide": math.inf}


def test_published_paired_tests() -> None:
    """Lakens (2013), two movies rated by ten people: t(9) = 4.74, p = .001, 95 % CI [0.52, 1.48], d_z = 1.50.

    The example of pingouin's `tost`, paired, bound 0.5: p = 0.955.
    """
    found = paired_difference(*MOVIES)
    assert round(found.difference / (found.se or 0), 2) == 4.74
    assert (round(found.p or 0, 3), round(found.low or 0, 2), round(found.high or 0, 2)) == (0.001, 0.52, 1.48)
    assert found.g == pytest.approx(1.5 * math.sqrt(2) / 3 * math.gamma(4.5) / math.gamma(4))
    assert found.g == pytest.approx(1.5 * (1 - 3 / (4 * 9 - 1)), abs=0.002)  # Hedges' approximation
    tost = equivalence([4, 7, 8, 6, 3, 2], [6, 8, 7, 10, 11, 9], 0.5)
    assert (round(tost.p or 0, 3), tost.equivalent) == (0.955, False)


def test_pairs_are_made_by_key_and_what_has_no_partner_is_named() -> None:
    found = paired_difference({0: 0.9, 1: 0.5, 2: 0.7}, {2: 0.6, 0: 0.8, 1: 0.4, 7: 0.1})
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
    assert (found.low, found.high, found.p, found.g) == (None, None, None, None)
    assert (tost.p, tost.equivalent) == (None, None)
    assert note in found.note
    assert note in tost.note


def test_differences_of_any_scale_that_do_vary_are_tested_and_no_p_value_is_zero() -> None:
    a, b = {0: 1e-9, 1: 2e-9, 2: 4e-9}, dict.fromkeys(range(3), 0.0)
    assert paired_difference(a, b).p == pytest.approx(stats.ttest_1samp([1, 2, 4], 0).pvalue)
    many = 0.9 + np.random.default_rng(0).normal(0, 1e-6, 400)
    for found in (paired_difference(many, np.full(400, 0.1)), equivalence(many, np.full(400, 0.9), 0.1)):
        assert (found.p, found.note) == (np.finfo(float).tiny, "p < 2.2e-308")
        assert p_text(found.p) == "p < 0.001"


def test_wrong_margins_and_levels_are_refused() -> None:
    a, b = {0: 1.0, 1: 2.0}, {0: 1.0, 1: 1.0}
    for margin in (0.0, -0.01, math.nan, math.inf):
        with pytest.raises(ValueError, match="margin"):
            equivalence(a, b, margin)
    for alpha in (0.0, 0.5, math.nan):
        with pytest.raises(ValueError, match="alpha"):
            equivalence(a, b, 0.1, alpha)
    with pytest.raises(ValueError, match="level 95 must lie between 0 and 1"):
        paired_difference(a, b, 95)


def test_what_pairing_bought() -> None:
    a, b = [0.70, 0.72, 0.71, 0.75], [0.69, 0.72, 0.70, 0.73]
    paired = paired_difference(a, b)
    assert paired.correlation == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert paired_difference([0.7, 0.8], [0.6, 0.8]).correlation is None
    assert paired_difference([0.7, 0.8, 0.9], [0.6, 0.6, 0.6]).correlation is None


def test_hedges_correction_in_closed_form_and_none_for_two_pairs() -> None:
    known = {2: 1 / math.sqrt(math.pi), 3: math.sqrt(math.pi / 6), 4: math.sqrt(2 / math.pi)}
    assert {m: hedges_correction(m) for m in known} == pytest.approx(known)
    assert paired_difference([0.8, 0.9], [0.7, 0.7]).g is None


def arms_by_seed(rng: np.random.Generator, arms: int, n: int, shared: float) -> np.ndarray:
    """Test mAP `(arms, seeds)` of equal arms: what a seed gives all of them, and what is each one's own."""
    return 0.7 + rng.normal(0, shared, n) + rng.normal(0, OWN, (arms, n))


@pytest.mark.parametrize("shared", [0.0, 0.05])
@pytest.mark.parametrize("n", SIZES)
def test_paired_intervals_cover_and_equivalence_at_the_margin_is_rarely_claimed(n: int, shared: float) -> None:
    rng = np.random.default_rng(20240611 + n)
    runs, margin, covered, claimed = 1500, 0.05, 0, 0
    for _ in range(runs):
        a, b = arms_by_seed(rng, 2, n, shared)
        found = paired_difference(a + margin, b)
        covered += (found.low or 0) <= margin <= (found.high or 0)
        claimed += equivalence(a + margin, b, margin).equivalent is True
    assert 0.93 <= covered / runs <= 0.97
    assert claimed / runs <= 0.06
    assert claimed / runs >= 0.03 or n == 3  # the test is not just unable to claim anything


def test_the_unpaired_interval_is_welchs_by_hand() -> None:
    a, b = [0.71, 0.74, 0.69, 0.75, 0.72], {7: 0.70, 8: 0.66, 9: 0.71}
    found = unpaired_difference(a, b)
    of_a, of_b = variance(a) / 5, variance(b.values()) / 3
    se, df = math.sqrt(of_a + of_b), (of_a + of_b) ** 2 / (of_a**2 / 4 + of_b**2 / 2)
    reach, difference = float(stats.t.ppf(0.975, df)) * se, mean(a) - mean(b.values())
    assert found.difference == pytest.approx(difference, abs=1e-12)
    expected = Uncertainty(*(pytest.approx(x) for x in (se, df, difference - reach, difference + reach)))
    assert found.uncertainty == expected
    assert found.uncertainty.p(difference) == pytest.approx(2 * float(stats.t.sf(difference / se, df)))


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ([0.5], [0.4, 0.6], "too few replicates (1 and 2)"),
        ([], [0.4, 0.6], "too few replicates (0 and 2)"),
        ([0.5, math.nan], [0.4, 0.6], "1 of 4 values are not a number"),
        ([0.5, 0.5], [0.4, 0.4], "no variance"),
    ],
)
def test_an_unpaired_difference_without_an_interval_says_why(a: list[float], b: list[float], note: str) -> None:
    found = unpaired_difference(a, b)
    assert (found.uncertainty.low, found.uncertainty.p(found.difference)) == (None, None)
    assert found.note.startswith(note)


def test_superiority_counts_pairs_and_ties_half() -> None:
    found = superiority({0: 0.9, 1: 0.8, 2: 0.3, 3: 0.5}, {0: 0.8, 1: 0.7, 2: 0.1 + 0.2, 3: 0.6, 9: 1.0})
    assert (found.value, found.n) == (0.625, 4)
    assert found.note == "1 of 4 pairs are ties and count half; without a partner: replicate 9"
    for a, b, won in (([0.9] * 5, [0.8] * 5, 5), ([1, 2, 3, 4, 5, 6, 7], [2, 1, 2, 3, 4, 5, 6], 6)):
        every, expected = superiority(a, b), stats.binomtest(won, len(a)).proportion_ci(0.95, "exact")
        assert (every.low, every.high) == pytest.approx((expected.low, expected.high), abs=1e-10)
    assert superiority({}, {}).value is None
    assert superiority({}, {}).note.startswith("no pair that both completed")
    assert superiority([math.nan, 1.0], [0.0, 0.0]).note == "1 of 2 differences are not a number"
    assert [superiority([0.5, 0.6], [0.5, 0.6]).value, superiority([0.9], [0.8]).value] == [0.5, 1.0]


def test_holm_agrees_with_statsmodels_also_with_ties() -> None:
    rng = np.random.default_rng(3)
    for size in (1, 2, 5, 12):
        p = np.round(rng.random(size) ** 3, 2)
        rejected, adjusted, *_ = multipletests(p, method="holm")
        assert holm(p).adjusted == pytest.approx(adjusted, abs=1e-10)
        assert holm(p).rejected == tuple(rejected)


def test_holm_takes_any_shape_and_keeps_undefined_p_values_visible() -> None:
    """The worked example of the Holm-Bonferroni method on Wikipedia: at 0.05, H1 and H4 are rejected."""
    named = holm({"H1": 0.01, "H2": 0.04, "H3": 0.03, "H4": 0.005})
    assert [name for name, rejected in named.rejected.items() if rejected] == ["H1", "H4"]
    assert named.adjusted == pytest.approx({"H1": 0.03, "H2": 0.06, "H3": 0.06, "H4": 0.02})
    assert holm(pd.Series({"a": 0.01, "b": 0.5})).adjusted == {"a": 0.02, "b": 0.5}
    assert holm(p for p in (0.01, 0.5)).adjusted == (0.02, 0.5)
    assert (holm({}).adjusted, holm([]).rejected, holm([]).family) == ({}, (), 0)
    found = holm([0.02, None, 0.03])
    assert math.isnan(found.adjusted[1])
    assert (found.family, found.adjusted[0]) == (2, pytest.approx(0.04))
    assert found.note == "1 of 3 p values are undefined and not in the family"
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm([1.5])


@pytest.mark.parametrize("n", SIZES)
def test_holm_over_a_family_of_arms_rarely_finds_what_is_not_there(n: int) -> None:
    rng = np.random.default_rng(7 + n)
    runs, wrong, alone = 1000, 0, 0
    for _ in range(runs):
        reference, *arms = arms_by_seed(rng, 5, n, 0.05)
        p_values = [paired_difference(arm, reference).p for arm in arms]
        wrong += any(holm(p_values).rejected)
        alone += min(p for p in p_values if p is not None) < 0.05
    assert wrong / runs <= 0.06
    assert alone / runs > 0.1  # uncorrected, one of four differences is "found" far too often
