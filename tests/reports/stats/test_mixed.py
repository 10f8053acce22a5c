"""The mixed model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.regression.mixed_linear_model import MixedLM

from reports.stats import mixed_model, paired_difference
from tests.oracles import statistics as oracles

# Effort of rising from four stools, by nine subjects: nlme's `ergoStool` (Pinheiro and Bates 2000, section 1.2).
STOOLS = [
    (12, 15, 12, 10),
    (10, 14, 13, 12),
    (7, 14, 13, 9),
    (7, 11, 10, 9),
    (8, 11, 8, 7),
    (9, 11, 11, 10),
    (8, 12, 12, 11),
    (7, 11, 8, 7),
    (9, 13, 10, 8),
]


def by_seed(table: np.ndarray) -> dict[tuple[Any, Any, Any], float]:
    """(arm, none, seed) → value of `(arms, seeds)`."""
    return {(arm, None, seed): float(value) for (arm, seed), value in np.ndenumerate(table)}


def test_published_mixed_model() -> None:
    found = mixed_model(by_seed(np.array(STOOLS).T), 0)
    assert [round(effect.difference, 4) for effect in found.effects] == [3.8889, 2.2222, 0.6667]
    assert {round(effect.se, 4) for effect in found.effects} == {0.5187}
    assert [round(effect.difference / effect.se, 3) for effect in found.effects] == [7.498, 4.284, 1.285]
    assert (found.df, found.n, found.note) == (24, 36, "")
    assert {name: round(math.sqrt(v), 4) for name, v in found.variances.items()} == {"seed": 1.3325, "residual": 1.1003}


@pytest.mark.parametrize(("arms", "seeds"), [(2, 5), (3, 6), (9, 5)])
@pytest.mark.parametrize("shared", [0.0, 0.5, 30.0])
def test_complete_data_have_the_variances_of_sums_of_squares(arms: int, seeds: int, shared: float) -> None:
    rng = np.random.default_rng(arms * 100 + seeds)
    for scale in (1e-4, 1.0, 1e4):
        y = scale * (rng.normal(0, shared, seeds) + rng.normal(0, 1, (arms, seeds)))
        found = mixed_model(by_seed(y), 0)
        between, residual = oracles.random_intercept(y)
        assert found.variances["residual"] == pytest.approx(residual, rel=1e-5)
        assert found.variances["seed"] == pytest.approx(between, rel=1e-4)
        assert found.effects[0].se == pytest.approx(math.sqrt(2 * residual / seeds), rel=1e-5)
        assert found.effects[0].difference == pytest.approx(y[1].mean() - y[0].mean(), abs=1e-10 * scale)
        assert found.note == ("the variance of seed is estimated as 0" if between == 0 else "")


def test_two_arms_have_the_interval_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(0.7, 0.05, 6) + rng.normal(0, 0.01, (2, 6))
    (effect,), paired = mixed_model(by_seed(y), 0).effects, paired_difference(y[1], y[0])
    assert (effect.low, effect.high) == pytest.approx((paired.low, paired.high), abs=1e-8)
    assert effect.p == pytest.approx(paired.p, rel=1e-5)


def crossed(rng: np.random.Generator, arms: int, folds: int, seeds: int) -> dict[tuple[Any, Any, Any], float]:
    f, s = rng.normal(0, 2, folds), rng.normal(0, 1, seeds)
    return {
        (a, i, j): a + f[i] + s[j] + rng.normal(0, 0.5) for a in range(arms) for i in range(folds) for j in range(seeds)
    }


def test_crossed_folds_and_seeds_with_missing_values_agree_with_statsmodels() -> None:
    rng = np.random.default_rng(3)
    values = crossed(rng, 3, 6, 7)
    for key in list(values)[::9]:
        del values[key]
    found = mixed_model(values, 0)
    y, x = np.array(list(values.values())), sm.add_constant(np.array([[k[0] == 1, k[0] == 2] for k in values], float))
    one = {"fold": "0 + C(fold)", "seed": "0 + C(seed)"}
    frame = pd.DataFrame(
        {"y": y, "fold": [k[1] for k in values], "seed": [k[2] for k in values], "one": 1.0, "a": x[:, 1], "b": x[:, 2]}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MixedLM.from_formula("y ~ a + b", frame, groups="one", re_formula="0", vc_formula=one).fit()
    assert theirs.converged
    assert [e.difference for e in found.effects] == pytest.approx(list(theirs.fe_params)[1:], abs=1e-4)
    assert [e.se for e in found.effects] == pytest.approx(list(theirs.bse_fe)[1:], rel=1e-2)
    assert [found.variances[n] for n in ("fold", "seed", "residual")] == pytest.approx(
        [*theirs.vcomp, theirs.scale], rel=1e-2
    )
    assert found.df == len(values) - (6 + 7 + 3 - 2)


def test_a_missing_value_costs_one_value() -> None:
    rng = np.random.default_rng(4)
    values = crossed(rng, 2, 1, 8)
    whole = mixed_model(values, 0)
    del values[1, 0, 3]
    found = mixed_model(values, 0)
    assert (whole.df, found.df, found.n) == (7, 6, 15)
    assert found.effects[0].difference != whole.effects[0].difference


NORMAL = np.random.default_rng(5).normal(size=(3, 6))


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ({}, "no values"),
        (by_seed(NORMAL[:, :3]), "3 seeds, and fewer than 5 groups do not give a variance"),
        (by_seed(NORMAL[:, :1]), "no folds or seeds to take as random"),
        (by_seed(NORMAL[:1]), "no other arm than the reference"),
        (by_seed(np.where(NORMAL > 1, math.nan, NORMAL)), f"{(NORMAL > 1).sum()} of 18 values are not a number"),
        ({(a, s, s): NORMAL[a, s] for a in range(3) for s in range(6)}, "each fold has one seed of its own"),
        ({(a, None, (a, s)): NORMAL[a, s] for a in range(3) for s in range(6)}, "some arms share no fold or seed"),
        (by_seed(NORMAL[0] + np.arange(3)[:, None]), "no variance, arms differ by the same in every fold and seed"),
        (by_seed(np.full((2, 5), 0.5)), "no variance, arms differ by the same in every fold and seed"),
        ({(0, None, s): s * s for s in range(5)} | {(1, None, 3): 2.0}, "arms and groups explain every value"),
    ],
)
def test_a_model_that_cannot_be_fitted_is_named(values: Mapping[tuple[Any, Any, Any], float], note: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mixed_model(values, 0)
    assert found.effects == ()
    assert found.note.startswith(f"no mixed model: {note}")


def test_a_reference_that_is_not_there_is_named() -> None:
    assert mixed_model(by_seed(NORMAL), "none").note == "no mixed model: no value of the reference 'none'"
    with pytest.raises(ValueError, match="level"):
        mixed_model(by_seed(NORMAL), 0, 95)
