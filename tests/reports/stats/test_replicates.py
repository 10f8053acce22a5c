"""Means ± SE over replicates: golden values, among them the paper's Suppl. Table 3."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from fmim_reports.reading.published import grid_mean_se
from fmim_reports.stats import mean_se

SEEDS = [0.70, 0.72, 0.71, 0.74, 0.73]


def test_mean_se_divides_by_n_minus_one_and_folds_are_averaged_within_a_seed_before() -> None:
    folds = {seed: [value - 0.1, value, value + 0.1] for seed, value in enumerate(SEEDS)}
    for found in (mean_se(SEEDS), mean_se(folds)):
        assert (round(found.mean, 4), round(found.se or 0, 4), found.n) == (0.72, 0.0071, 5)


def test_rows_written_three_times_count_once() -> None:
    tripled = pd.Series(SEEDS * 3, index=[*range(5)] * 3)
    assert mean_se(tripled) == mean_se(SEEDS)
    assert mean_se({seed: [value] * 3 for seed, value in enumerate(SEEDS)}).n == 5
    assert mean_se(pd.Series([0.7, 0.9], index=[0.0, math.nan])).n == 2  # the one whose key is missing stays


def test_one_replicate_has_no_se_none_has_no_mean_and_not_a_number_stays_visible() -> None:
    one, none, broken = mean_se([0.7]), mean_se({}), mean_se([0.7, math.nan, 0.9])
    assert (one.mean, one.se, one.n, one.sd) == (0.7, None, 1, None)
    assert math.isnan(none.mean)
    assert (none.se, none.n) == (None, 0)
    assert math.isnan(broken.mean)
    assert math.isnan(broken.se or 0)
    assert (broken.n, broken.nan) == (3, 1)


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
    printed = {("grid", "OAI"): 0.28, ("automargin", "OAI"): 0.09}  # of OAI with ddof = 0
    if (search, dataset) in printed:
        assert round((found.se or 0) * math.sqrt((n - 1) / n), 2) == printed[search, dataset]
