"""By simulation: intervals cover as often as they say, and tests are wrong no more often than they may be."""

from __future__ import annotations

import numpy as np
import pytest

from fmim_reports.stats import (
    cost_ratio,
    effect_size,
    equivalence,
    holm,
    optimism,
    paired_difference,
)

SIZES = (3, 5, 10)
SHARED = (0.0, 0.05)  # standard deviation of what arms have in common in a seed
OWN = 0.03


def arms_by_seed(rng: np.random.Generator, arms: int, n: int, shared: float) -> np.ndarray:
    """Test mAP `(arms, seeds)` of equal arms: what a seed gives all of them, and what is each one's own."""
    return 0.7 + rng.normal(0, shared, n) + rng.normal(0, OWN, (arms, n))


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("n", SIZES)
def test_paired_intervals_cover_and_equivalence_at_the_margin_is_rarely_claimed(n: int, shared: float) -> None:
    rng = np.random.default_rng(20240611 + n)
    runs, margin, covered, claimed = 1500, 0.05, 0, 0
    for _ in range(runs):
        a, b = arms_by_seed(rng, 2, n, shared)
        found = paired_difference(a + margin, b)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= margin <= found.high
        claimed += equivalence(a + margin, b, margin).equivalent is True
    assert 0.93 <= covered / runs <= 0.97
    assert claimed / runs <= 0.06
    assert claimed / runs >= 0.03 or n == 3  # the test is not just unable to claim anything


@pytest.mark.usefixtures("quick_collections")
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


@pytest.mark.parametrize("n", SIZES)
def test_ratios_of_costs_cover(n: int) -> None:
    rng = np.random.default_rng(11 + n)
    runs, covered = 1500, 0
    for _ in range(runs):
        slow = rng.normal(1, 0.1, n)  # a busy machine slows both arms
        found = cost_ratio(400 * slow + rng.normal(0, 10, n), 100 * slow + rng.normal(0, 4, n))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 4 <= found.high
    assert 0.93 <= covered / runs <= 0.97


@pytest.mark.parametrize(("folds", "seeds"), [(3, 3), (3, 5), (5, 5), (10, 10)])
def test_optimism_covers(folds: int, seeds: int) -> None:
    rng = np.random.default_rng(13 * folds + seeds)
    runs, covered = 1500, 0
    for _ in range(runs):
        found = optimism(rng.normal(0.8, 0.03, folds), rng.normal(0.75, 0.02, seeds))
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.05 <= found.high
    assert 0.93 <= covered / runs <= 0.97


@pytest.mark.parametrize("n", SIZES)
def test_effect_sizes_cover_and_hedges_correction_removes_the_bias(n: int) -> None:
    rng = np.random.default_rng(17 + n)
    runs, true, covered = 500, 0.8, 0
    for _ in range(runs):
        a, b = arms_by_seed(rng, 2, n, 0.05)
        found = effect_size(a + true * OWN * 2**0.5, b)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= true <= found.high
    assert 0.93 <= covered / runs <= 0.97
    d = rng.normal(true, 1, (200_000, n))
    g = d.mean(axis=1) / d.std(axis=1, ddof=1) * _correction(n)
    assert g.mean() == pytest.approx(true, abs=0.02)


def _correction(n: int) -> float:
    found = effect_size(list(range(n)), [0] * n)
    assert found.g is not None
    assert found.d_z is not None
    return found.g / found.d_z
