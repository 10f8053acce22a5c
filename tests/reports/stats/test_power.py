"""The power of the tests of a comparison, as it is said and as simulation has it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from statsmodels.stats.power import TTestPower

from fmim_reports.stats import (
    ENOUGH_POWER,
    Needed,
    Power,
    Variances,
    crossed_difference,
    power_of,
)
from fmim_reports.stats.mean_squares import MeanSquares

pytestmark = pytest.mark.filterwarnings("error")


def power(variances: Variances, seeds: int, margin: float) -> Power:
    found = power_of(variances, seeds, margin, seeds)
    assert found is not None
    return found


@pytest.mark.parametrize("seeds", [3, 5, 10, 30])
def test_over_seeds_alone_the_power_of_a_difference_is_that_of_the_paired_t_test(seeds: int) -> None:
    for effect in (0.3, 0.7, 1.2):
        expected = TTestPower().power(effect, seeds, 0.05)
        assert power(Variances(1.0), seeds, effect).difference == pytest.approx(expected, abs=5e-4)
    expected = TTestPower().solve_power(nobs=seeds, alpha=0.05, power=ENOUGH_POWER)
    assert power(Variances(1.0), seeds, 1.0).smallest_difference == pytest.approx(expected, rel=2e-3)
    assert power(Variances(0.02**2), seeds, 1.0).smallest_difference == pytest.approx(0.02 * expected, rel=2e-3)


def test_published_numbers_of_pairs() -> None:
    """G*Power, paired t test, two-sided, alpha 0.05, power 0.8: d_z 0.2, 0.5, 0.8 need 199, 34, 15 pairs."""
    assert [power(Variances(1.0), 5, d).seeds_difference.seeds for d in (0.2, 0.5, 0.8)] == [199, 34, 15]


@pytest.mark.parametrize("seeds", [2, 10])
def test_over_seeds_alone_both_tests_pass_as_often_as_they_say(seeds: int) -> None:
    found, rng, runs = power(Variances(0.02**2), seeds, 0.03), np.random.default_rng(seeds), 200_000
    mean = rng.normal(0, 0.02 / math.sqrt(seeds), runs)
    se = 0.02 * np.sqrt(rng.chisquare(seeds - 1, runs) / (seeds - 1) / seeds)
    assert (np.abs(mean) < 0.03 - stats.t.ppf(0.95, seeds - 1) * se).mean() == pytest.approx(
        found.equivalence, abs=0.005
    )
    shown = np.abs(mean + found.smallest_difference) > stats.t.ppf(0.975, seeds - 1) * se
    assert shown.mean() == pytest.approx(ENOUGH_POWER, abs=0.005)
    within = np.abs(mean) < found.smallest_margin - stats.t.ppf(0.95, seeds - 1) * se
    assert within.mean() == pytest.approx(ENOUGH_POWER, abs=0.005)


@pytest.mark.parametrize("seeds", [2, 5, 10])
@pytest.mark.parametrize(
    "variances",
    [Variances(0.02**2, 0.1**2, 0.15**2, 60), Variances(0.004**2, 0.15**2, 0.1**2, 60), Variances(0, 0, 0.2**2, 60)],
)
def test_over_seeds_and_subjects_both_tests_pass_as_often_as_they_say(variances: Variances, seeds: int) -> None:
    """Of normal differences the mean squares are χ², and the tests follow from them."""
    rng, runs, subjects = np.random.default_rng(seeds), 100_000, variances.subjects
    expected, (true, _) = variances.expected(seeds), variances.precision(seeds)
    free = (seeds - 1, subjects - 1, (seeds - 1) * (subjects - 1))
    squares = [
        square * rng.chisquare(df, runs) / df
        for square, df in zip((expected.seed, expected.subject, expected.interaction), free, strict=True)
    ]
    se, df = MeanSquares(*squares, seeds, subjects, subjects).over_both()
    mean, margin = rng.normal(0, true, runs), 2.5 * true
    said = power(variances, seeds, margin)
    equal = (special.stdtr(df, (np.abs(mean) - margin) / se) < 0.05).mean()
    found = (2 * special.stdtr(df, -np.abs(mean + margin) / se) < 0.05).mean()
    assert (equal, found) == (pytest.approx(said.equivalence, abs=0.006), pytest.approx(said.difference, abs=0.006))


def test_the_variances_that_power_follows_from_are_found_in_values_by_query() -> None:
    """Normal differences of one query a subject, through the functions that a report calls."""
    rng, true, found = np.random.default_rng(60), Variances(0.02**2, 0.1**2, 0.15**2, 60), []
    subject_of, other = {query: query for query in range(60)}, pd.DataFrame(np.zeros((10, 60)))
    for _ in range(300):
        d = rng.normal(0, math.sqrt(true.seed), (10, 1)) + rng.normal(0, math.sqrt(true.subject), 60)
        d = d + rng.normal(0, math.sqrt(true.interaction), (10, 60))
        found.append(crossed_difference(pd.DataFrame(d), other, subject_of).variances)
    each = np.array([[v.seed, v.subject, v.interaction] for v in found if v is not None])
    error = each.std(axis=0, ddof=1) / math.sqrt(len(each))
    assert (np.abs(each.mean(axis=0) - [true.seed, true.subject, true.interaction]) < 2.5 * error).all()


def test_the_seeds_needed_are_the_first_with_the_power_and_none_where_subjects_leave_too_much() -> None:
    variances = Variances(0.02**2, 0.03**2, 0.1**2, 100)
    found = power(variances, 5, 0.01)
    assert found.least_se == pytest.approx(0.003)
    for test, needed in (("difference", found.seeds_difference), ("equivalence", found.seeds_equivalence)):
        assert needed.seeds is not None
        enough, fewer = (getattr(power(variances, needed.seeds - less, 0.01), test) for less in (0, 1))
        assert fewer < ENOUGH_POWER <= enough
    hopeless = power(Variances(0.02**2, 0.13**2, 0.1**2, 100), 5, 0.01)
    assert {hopeless.seeds_difference, hopeless.seeds_equivalence} == {Needed(None, None, None)}
    assert hopeless.least_se == pytest.approx(0.013)


@pytest.mark.parametrize(
    ("variances", "runs"),
    [(Variances(0.02**2), 60), pytest.param(Variances(0.02**2, 0.01**2, 0.1**2, 200), 100, marks=pytest.mark.slow)],
)
def test_the_range_of_the_seeds_needed_holds_the_true_number_in_four_of_five_studies(
    variances: Variances, runs: int
) -> None:
    """The one number is an estimate of a wide spread: as 49 of 27 to 260."""
    rng, seeds, margin = np.random.default_rng(7), 5, 0.01
    truth = power(variances, seeds, margin).seeds_difference.seeds
    assert truth is not None
    expected, others, held = variances.expected(seeds), variances.subjects - 1, 0
    for _ in range(runs):
        free = (seeds - 1, max(others, 1), (seeds - 1) * max(others, 1))
        squares = (expected.seed, expected.subject, expected.interaction)
        drawn = (square * rng.chisquare(df) / df for square, df in zip(squares, free, strict=True))
        found = MeanSquares(*drawn, seeds, variances.subjects, variances.subjects).variances()
        needed = power(found, seeds, margin).seeds_difference
        held += (needed.low or math.inf) <= truth <= (needed.high or math.inf)
    assert 0.75 <= held / runs <= 0.9


def test_what_cannot_be_known_of_power_is_said() -> None:
    assert power_of(Variances(0.0), 5, 0.01, 5) is None
    with pytest.raises(ValueError, match="seeds 1 must be at least 2"):
        power_of(Variances(0.1), 1, 0.01, 5)
    with pytest.raises(ValueError, match="margin 0"):
        power_of(Variances(0.1), 5, 0.0, 5)
    with pytest.raises(ValueError, match="alpha 5 must lie between 0 and 1"):
        power_of(Variances(0.1), 5, 0.01, 5, 5)
