"""The optimism of the score that an arm was selected by."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.parts.optimism import optimism_plot, optimism_table
from fmim_reports.reading.results import read_results
from fmim_reports.stats import optimism
from tests.support.factories import SEEDS, configurations, level
from tests.support.out_folders import by_arm
from tests.support.replicate_studies import assert_drawn


def test_optimism_is_validation_minus_fresh_seeds(out: Path) -> None:
    found = by_arm(optimism_table(read_results(out)))
    best = max(level("triplet_grid", c) for c in configurations("triplet_grid"))
    expected = optimism([best + (fold - 1) / 100 for fold in range(3)], [best - 0.05 + shift for shift in SEEDS])
    row = found["Triplet + grid search"]
    assert float(row["optimism"]) == pytest.approx(0.05)
    assert (float(row["low"]), float(row["high"])) == pytest.approx((expected.low, expected.high))
    assert float(found["Triplet + Q1"]["low"]) < 0.05 < float(found["Triplet + Q1"]["high"])
    assert_drawn(optimism_plot(read_results(out)))


def test_there_is_no_figure_before_a_test_result(out: Path) -> None:
    for path in (out / "records").glob("*.seed*.json"):
        path.unlink()
    with pytest.raises(NothingToDraw, match="no arm that selected among two configurations has a test result yet"):
        optimism_plot(read_results(out))
