"""Uncertainty over seeds, over subjects, and over both: by hand, by loops, and by simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import special, stats

from fmim_reports.stats import (
    Uncertainty,
    Variances,
    against_itself,
    crossed_difference,
    crossed_mean,
    paired_difference,
)
from tests.oracles import statistics as oracles


def table(rng: np.random.Generator, seeds: int, subjects: int, most: int = 6) -> tuple[pd.DataFrame, pd.Series]:
    """AP-like values of subjects with 1 to `most` queries, and the subject of each query."""
    people = np.repeat(np.arange(subjects), rng.integers(1, most + 1, subjects))
    latent = 1.5 + rng.normal(0, 1, subjects)[people] + rng.normal(0, 0.3, (seeds, 1))
    latent = latent + rng.normal(0, 0.3, (seeds, subjects))[:, people] + rng.normal(0, 0.8, (seeds, len(people)))
    return pd.DataFrame(special.expit(latent)), pd.Series(people)


def ends(found: Uncertainty) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


@pytest.mark.parametrize(("seeds", "subjects"), [(2, 3), (5, 40), (10, 12)])
def test_the_three_errors_are_those_of_loops_over_a_table_of_influences(seeds: int, subjects: int) -> None:
    rng = np.random.default_rng(seeds)
    (a, of_query), (b, _) = table(rng, seeds, subjects), table(rng, seeds, subjects)
    b = pd.DataFrame(rng.random(a.shape))
    for found, values in ((crossed_mean(a, of_query), a), (crossed_difference(a, b, of_query), a - b)):
        theta, *squares = oracles.crossed_variances(values.to_numpy().tolist(), of_query.tolist())
        assert found.mean == pytest.approx(theta, abs=1e-12)
        ses = [found.over_seeds.se, found.over_subjects.se, found.over_both.se]
        assert ses == pytest.approx([math.sqrt(square) for square in squares], rel=1e-9)
        assert (found.seeds, found.subjects, found.queries) == (seeds, subjects, a.shape[1])


def test_over_seeds_alone_a_difference_is_that_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    (a, of_query), b = table(rng, 6, 20), None
    b = a - rng.normal(0.02, 0.05, a.shape)
    found, paired = crossed_difference(a, b, of_query), paired_difference(a.mean(axis=1), b.mean(axis=1))
    assert found.mean == pytest.approx(paired.difference)
    assert found.over_seeds.se == pytest.approx(paired.se)
    assert ends(found.over_seeds) == pytest.approx((paired.low, paired.high))


def test_over_subjects_alone_the_se_is_statsmodels_clustered_one() -> None:
    values, of_query = table(np.random.default_rng(2), 4, 25)
    fit = sm.OLS(values.mean().to_numpy(), np.ones(values.shape[1]))
    clustered = fit.fit(cov_type="cluster", cov_kwds={"groups": of_query.to_numpy()})
    assert crossed_mean(values, of_query).over_subjects.se == pytest.approx(clustered.bse[0], rel=1e-9)


def test_intervals_of_a_mean_keep_within_0_and_1_and_those_of_a_difference_are_t_intervals() -> None:
    rng = np.random.default_rng(3)
    values, of_query = table(rng, 5, 30)
    near = values.where(values > 0.5, 1 - values) ** 0.02
    low, high = ends(crossed_mean(near, of_query).over_both)
    mean = near.to_numpy().mean()
    assert 0 < low < mean < high < 1
    assert special.logit(low) + special.logit(high) == pytest.approx(2 * special.logit(mean))
    found = crossed_difference(values, near, of_query)
    assert found.over_both.df is not None
    assert found.over_both.se is not None
    reach = stats.t.ppf(0.975, found.over_both.df) * found.over_both.se
    assert ends(found.over_both) == pytest.approx((found.mean - reach, found.mean + reach), abs=1e-12)


def test_the_variances_give_the_se_of_so_many_seeds_and_what_no_seed_removes() -> None:
    values, of_query = table(np.random.default_rng(4), 5, 60)
    found = crossed_mean(values, of_query)
    assert found.variances is not None
    assert found.variances.precision(5) == pytest.approx((found.over_both.se, found.over_both.df))
    seeds = [found.variances.precision(n)[0] for n in (2, 5, 50, 10**7)]
    assert seeds == sorted(seeds, reverse=True)
    assert seeds[-1] == pytest.approx(found.variances.least_se, rel=1e-3)
    alone = Variances(0.03**2)
    assert alone.precision(9) == (pytest.approx(0.01), 8)
    assert alone.least_se == 0


WHOLE = pd.DataFrame([[0.5, 0.75, 1.0], [0.25, 0.5, 0.5]], columns=["p", "q", "r"])
SUBJECT = {"p": "anna", "q": "anna", "r": "bo"}


def test_what_is_not_known_or_left_out_is_named() -> None:
    one, alone = crossed_mean(WHOLE[:1], SUBJECT), crossed_mean(WHOLE[["p", "q"]], SUBJECT)
    assert (one.over_seeds, one.over_both, one.variances) == (Uncertainty(), Uncertainty(), None)
    assert one.over_subjects.se is not None
    assert "one seed: nothing is known of others; only 2 subjects" in one.note
    assert (alone.over_subjects, alone.over_both) == (Uncertainty(), Uncertainty())
    assert alone.over_seeds.se == pytest.approx(0.125)
    assert crossed_mean(WHOLE[:0], SUBJECT).note == "no values"
    same = crossed_mean(WHOLE * 0 + 1, SUBJECT)
    assert (same.over_both.se, same.over_both.low) == (0.0, None)
    without = crossed_mean(WHOLE.assign(p=math.nan), SUBJECT)
    assert without.mean == pytest.approx(0.6875)
    assert without.note.endswith("left out: 1 queries without a value in any seed")
    broken = crossed_mean(WHOLE.mask(WHOLE == 0.75), SUBJECT)
    assert math.isnan(broken.mean)
    assert (broken.over_both, broken.note.split(";")[0]) == (Uncertainty(), "1 of 6 values are not a number")
    unpaired = crossed_difference(WHOLE, WHOLE.rename(index={1: 7}, columns={"r": "s"}), SUBJECT)
    assert (unpaired.seeds, unpaired.queries, unpaired.mean) == (1, 2, 0.0)
    assert "without a partner: replicate 1, 7; left out: 2 queries that only one of the two has" in unpaired.note


def test_subjects_that_do_not_differ_and_a_variance_of_0_are_named() -> None:
    rng, of_query = np.random.default_rng(8), pd.Series(range(30))
    a, noise = pd.DataFrame(rng.random((5, 30))), rng.normal(0.02, 0.05, (5, 30))
    by_seed = noise - noise.mean(axis=1, keepdims=True)  # no seed differs from another in the mean
    every = crossed_difference(a, a - by_seed - rng.normal(0.02, 0.05, 30), of_query)
    few = crossed_difference(a, a - np.where(of_query < 4, noise, 0), of_query)
    assert every.note == "the variance of seeds is estimated as 0: the SE over both is that over subjects"
    assert every.over_both.se == every.over_subjects.se
    assert (few.differing, every.differing) == (4, 30)
    assert (few.over_subjects.df, every.over_subjects.df) == (3, 29)
    assert few.note.startswith(
        "only 4 of 30 subjects differ, the other 26 have one and the same value: degrees of freedom count those alone"
    )
    assert crossed_mean(pd.DataFrame(np.where(of_query < 4, a, 1.0)), of_query).differing == 4


def test_wrong_input_is_refused() -> None:
    for values, subjects, says in (
        (WHOLE, {"p": 1, "q": 1}, "1 queries have no subject, such as 'r'"),
        (WHOLE * 100, SUBJECT, "between 0 and 1, such as AP, got 25 to 100"),
    ):
        with pytest.raises(ValueError, match=says):
            crossed_mean(values, subjects)


def simulated(
    rng: np.random.Generator, seeds: int, subjects: int, seed_sd: float
) -> tuple[pd.DataFrame, pd.DataFrame, dict[int, int]]:
    """AP-like values of two equal arms: subjects differ, differently so for the arms, and so do seeds."""
    people = np.repeat(np.arange(subjects), rng.integers(1, 7, subjects))
    shared = 2 + rng.normal(0, 0.9, subjects)[people] + rng.normal(0, 0.5, len(people))
    arms = []
    for _ in range(2):
        own = rng.normal(0, 0.4, subjects)[people] + rng.normal(0, seed_sd, (seeds, 1))
        own = own + rng.normal(0, 0.3, (seeds, subjects))[:, people] + rng.normal(0, 0.7, (seeds, len(people)))
        arms.append(pd.DataFrame(special.expit(shared + own)))
    return arms[0], arms[1], dict(enumerate(people.tolist()))


def true_mean(seed_sd: float) -> float:
    """E[expit(N(2, σ²))] by quadrature."""
    x, weight = np.polynomial.hermite_e.hermegauss(80)
    variance = 0.9**2 + 0.5**2 + 0.4**2 + seed_sd**2 + 0.3**2 + 0.7**2
    return float(weight @ special.expit(2 + math.sqrt(variance) * x) / weight.sum())


@pytest.mark.parametrize(("seeds", "subjects", "seed_sd"), [(5, 50, 0.2), (10, 100, 0.1)])
def test_intervals_over_both_cover_and_those_over_one_do_not(seeds: int, subjects: int, seed_sd: float) -> None:
    rng = np.random.default_rng(100 * seeds + subjects)
    runs, truth = 500, true_mean(seed_sd)
    covered = dict.fromkeys(("mean", "difference", "over_seeds", "over_subjects"), 0)
    for _ in range(runs):
        a, b, of_query = simulated(rng, seeds, subjects, seed_sd)
        mean, difference = crossed_mean(a, of_query), crossed_difference(a, b, of_query)
        tried = {
            "mean": (mean.over_both, truth),
            "difference": (difference.over_both, 0.0),
            "over_seeds": (difference.over_seeds, 0.0),
            "over_subjects": (difference.over_subjects, 0.0),
        }
        for name, (found, at) in tried.items():
            low, high = ends(found)
            covered[name] += low <= at <= high
    assert 0.93 <= covered["mean"] / runs <= 0.97
    assert 0.93 <= covered["difference"] / runs <= 0.97
    assert min(covered["over_seeds"], covered["over_subjects"]) / runs < 0.9


@pytest.mark.parametrize(
    ("subjects", "share", "before", "after"),
    [
        (20, 0.2, (0.8, 0.9), (0.92, 0.98)),
        (50, 0.06, (0.75, 0.88), (0.92, 0.98)),
        (50, 0.2, (0.87, 0.93), (0.91, 0.97)),
        pytest.param(200, 0.05, (0.85, 0.91), (0.9, 0.97), marks=pytest.mark.slow),
    ],
)
def test_where_few_subjects_differ_intervals_that_count_those_alone_cover(
    subjects: int, share: float, before: tuple[float, float], after: tuple[float, float]
) -> None:
    """Most subjects score the same in both arms, the others' differences have a mean of 1 and an sd of 1, or a skew."""
    rng, runs, of_query = np.random.default_rng(subjects), 600, dict(enumerate(range(subjects)))
    covered, intervals, other = np.zeros(2), 0, pd.DataFrame(np.zeros((5, subjects)))
    for run in range(runs):
        each = rng.exponential(1, subjects) if run % 2 else rng.normal(1, 1, subjects)
        each = each + rng.normal(0, 0.2, (5, 1)) + rng.normal(0, 0.5, (5, subjects))
        d = np.where(rng.random(subjects) < share, each, 0.0)
        found = crossed_difference(pd.DataFrame(d), other, of_query)
        if found.variances is None or not found.differing:
            continue  # no interval
        intervals += 1
        all_count = replace(found.variances, differing=None).precision(5)
        for one, (se, df) in enumerate((all_count, found.variances.precision(5))):
            covered[one] += abs(found.mean - share) <= special.stdtrit(df, 0.975) * se
    was, now = covered / intervals
    assert before[0] <= was <= before[1]
    assert after[0] <= now <= after[1]


def test_a_mean_near_1_of_few_subjects_is_covered() -> None:
    """Four of five subjects are found at once, always; the others nearly so, with a skew: 91 % before."""
    rng, runs, of_query, truth = np.random.default_rng(20), 500, dict(enumerate(range(20))), 1 - 0.2 / 7
    covered, intervals = np.zeros(2), 0
    for _ in range(runs):
        low = np.clip(rng.beta(6, 1, 20) + rng.normal(0, 0.02, (5, 20)), 0.001, 0.999)
        found = crossed_mean(pd.DataFrame(np.where(rng.random(20) < 0.2, low, 1.0)), of_query)
        if found.variances is None or not found.differing:
            continue
        intervals += 1
        all_count = replace(found.variances, differing=None).precision(5)
        for one, (se, df) in enumerate((all_count, found.variances.precision(5))):
            reach = special.stdtrit(df, 0.975) * se / (found.mean * (1 - found.mean))
            covered[one] += abs(special.logit(found.mean) - special.logit(truth)) <= reach
    was, now = covered / intervals
    assert 0.89 <= was <= 0.93
    assert 0.96 <= now <= 1


@pytest.mark.parametrize(("seeds", "low", "high"), [(6, 0.04, 0.1), (10, 0.03, 0.075)])
def test_an_arm_differs_from_itself_in_about_one_of_twenty_splits_of_its_seeds(
    seeds: int, low: float, high: float
) -> None:
    rng, of_query, found = np.random.default_rng(seeds), dict(enumerate(range(60))), []
    for _ in range(40):
        values = rng.normal(0, 0.1, 60) + rng.normal(0, 0.02, (seeds, 1)) + rng.normal(0, 0.1, (seeds, 60))
        found.append(against_itself(pd.DataFrame(values), of_query))
    assert low <= np.mean([one.shown for one in found]) <= high
    # Pairs of independent seeds on the same subjects: the variance of a seed's mean is 0.02² + 0.1²/60.
    sd = math.sqrt(2 * (0.02**2 + 0.1**2 / 60) / (seeds // 2))
    assert np.mean([one.median for one in found]) == pytest.approx(0.674 * sd, rel=0.12)
    assert 0.8 * 1.96 * sd < np.mean([one.largest for one in found]) < 1.96 * sd  # few seeds, again and again


def test_a_split_pairs_each_seed_once() -> None:
    """Of two seeds there is one difference, whichever way they are split."""
    values, of_query = table(np.random.default_rng(1), 2, 9)
    found, apart = against_itself(values, of_query), abs(values.iloc[0].mean() - values.iloc[1].mean())
    assert (found.pairs, found.median, found.largest) == (1, pytest.approx(apart), pytest.approx(apart))
