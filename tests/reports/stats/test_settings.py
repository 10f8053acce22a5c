"""The mean over settings against the textbook's, against statsmodels' mixed model, and on simulated studies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

from fmim_reports.stats import UNKNOWN, Uncertainty, mean_over_settings

SEEDS = 10


def test_of_one_field_it_is_the_t_interval_of_its_values() -> None:
    values = [-0.08, -0.037, 0.03, 0.011]
    found = mean_over_settings(values[0], Uncertainty(0.5, 9), {"learning_rate": values[1:]})
    slow = ttest_1samp(values, 0.0)
    low, high = slow.confidence_interval()
    assert (found.mean, found.uncertainty.low, found.uncertainty.high) == pytest.approx((np.mean(values), low, high))
    assert found.uncertainty.p(found.mean) == pytest.approx(slow.pvalue)
    assert found.sds == pytest.approx({"learning_rate": np.std(values, ddof=1)})


def test_of_several_fields_it_is_the_mean_of_the_full_cross_where_their_effects_add_up() -> None:
    rates, cohorts, lengths = [0.0, 2.0, -1.0], [0.0, 0.5, 1.5, -3.0], [0.0, 4.0]
    cross = [1.0 + a + b + c for a in rates for b in cohorts for c in lengths]
    fields = {
        name: [1.0 + v for v in effects[1:]] for name, effects in zip("abc", (rates, cohorts, lengths), strict=True)
    }
    assert mean_over_settings(1.0, UNKNOWN, fields).mean == pytest.approx(np.mean(cross))


def test_of_a_balanced_field_statsmodels_mixed_model_has_the_same_mean_and_standard_error() -> None:
    """Restricted maximum likelihood agrees with moments where no variance is estimated as 0."""
    rng = np.random.default_rng(1)
    y = rng.normal(0, 2, (5, 1)) + rng.normal(0, 1, (5, SEEDS))
    setting = np.repeat(np.eye(5), SEEDS, axis=0)
    vc = VCSpec(["setting"], [[list("abcde")]], [[setting]])
    fit = MixedLM(y.ravel(), np.ones((y.size, 1)), np.zeros(y.size), exog_vc=vc).fit(reml=True)
    means = y.mean(axis=1)
    found = mean_over_settings(means[0], UNKNOWN, {"setting": list(means[1:])})
    assert found.mean == pytest.approx(fit.fe_params[0])
    assert found.uncertainty.se == pytest.approx(fit.bse[0], rel=1e-3)
    within = y.var(axis=1, ddof=1).mean() / SEEDS
    assert found.sds["setting"] ** 2 - within == pytest.approx(fit.vcomp[0], rel=1e-3)


@pytest.mark.parametrize(
    ("values", "sds"),
    [((4,), (1.0,)), ((3, 4), (0.0, 0.0)), ((3, 4), (3.0, 2.0)), ((3, 4), (0.0, 2.0)), ((3, 4, 3), (1.0, 3.0, 0.5))],
)
def test_its_intervals_cover_what_they_say(values: Sequence[int], sds: Sequence[float]) -> None:
    rng, runs, hits, error = np.random.default_rng(7), 2000, 0, 1.5 / math.sqrt(SEEDS)
    for _ in range(runs):
        effects = [rng.normal(0, sd, size) for sd, size in zip(sds, values, strict=True)]
        center = sum(float(effect[0]) for effect in effects)
        others = {
            str(field): [center - effect[0] + one + rng.normal(0, error) for one in effect[1:]]
            for field, effect in enumerate(effects)
        }
        seeds = rng.normal(center, 1.5, SEEDS)
        over_seeds = Uncertainty(seeds.std(ddof=1) / math.sqrt(SEEDS), SEEDS - 1)
        found = mean_over_settings(seeds.mean(), over_seeds, others).uncertainty
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0 <= found.high
    assert hits / runs >= 0.92


def test_where_nothing_varies_or_a_value_is_not_a_number_there_is_no_interval() -> None:
    assert mean_over_settings(0.3, UNKNOWN, {"cohort": [0.3, 0.3]}).uncertainty == UNKNOWN
    broken = mean_over_settings(1.0, UNKNOWN, {"cohort": [math.nan]})
    assert math.isnan(broken.mean)
    assert broken.uncertainty == UNKNOWN
    seeds = mean_over_settings(1.0, Uncertainty(0.5, 9), {}).uncertainty  # every other setting has failed
    assert (seeds.se, seeds.df) == (0.5, 9)
