"""What a search bought: the best score at every budget, areas under it, and the optimism of what it selected."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from fmim_reports.drawing.axes import RULE
from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.parts.budget import CONFIGURATIONS, DEVICE_SECONDS, area, budget_plot, budget_table, curves
from fmim_reports.parts.costs import optimism_plot, optimism_table
from fmim_reports.reading.results import read_results
from fmim_reports.stats import optimism
from tests.support.factories import SEEDS, configurations, level
from tests.support.file_contents import edit_cost, record, searched_by, spoil
from tests.support.reports import assert_drawn, by_arm, panels

GRID = "Triplet + grid search"
SCORES = [level("triplet_grid", c) for c in configurations("triplet_grid")]


def draws(scores: list[float], b: int) -> float:
    """The expected best of b draws without replacement: the mean over all subsets."""
    found = [max(drawn) for drawn in itertools.combinations(scores, b)]
    return sum(found) / len(found)


def trapezoids(values: list[float]) -> float:
    return sum((a + b) / 2 for a, b in itertools.pairwise(values)) / (len(values) - 1)


def test_areas_are_over_the_range_that_the_arms_of_a_loss_share(out: Path) -> None:
    found = curves(read_results(out))
    areas = {curve.arm.name: area(curve, CONFIGURATIONS, found) for curve in found}
    for arm in ("triplet_grid", "triplet_automargin"):
        scores = [level(arm, c) for c in configurations(arm)]
        best = [draws(scores, min(b, len(scores))) for b in range(1, 5)]  # a search that is over keeps its best
        assert areas[arm] == pytest.approx(trapezoids(best))
    assert areas["triplet_q2"] == pytest.approx(0.63)
    # Each configuration costs 36 s, so the same range in another unit, up to 144 s.
    assert {curve.arm.name: area(curve, DEVICE_SECONDS, found) for curve in found} == pytest.approx(areas)
    table = budget_table(read_results(out))
    assert table.notes[0] == "Triplet: areas from 1 to 4 configurations and from 36 to 144 device-seconds."
    row, mean = by_arm(table)[GRID], sum(SCORES) / 4
    assert float(row["one"]) == pytest.approx(mean)
    assert float(row["one_sd"]) == pytest.approx(math.sqrt(sum((s - mean) ** 2 for s in SCORES) / 4))
    assert float(row["all"]) == pytest.approx(max(SCORES))  # what the search selected


def test_an_adaptive_search_has_its_best_so_far_in_its_own_order(out: Path) -> None:
    searched_by(out, "triplet_grid", uses_results=True, ordered=True)
    spoil(record(out, "triplet_grid.c01.fold2"), "failed")
    found = curves(read_results(out))
    (curve,) = [one for one in found if one.arm.name == "triplet_grid"]
    best = [SCORES[0], SCORES[0], max(SCORES[0], SCORES[2]), max(SCORES[0], SCORES[2], SCORES[3])]
    assert curve.ordered
    assert curve.steps["best"].tolist() == pytest.approx(best)
    assert curve.steps[DEVICE_SECONDS].tolist() == [36.0, 72.0, 108.0, 144.0]
    assert area(curve, CONFIGURATIONS, found) == pytest.approx(sum(best[:3]) / 3)
    table = budget_table(read_results(out))
    assert (by_arm(table)[GRID]["curve"], by_arm(table)[GRID]["one_sd"]) == ("so far", "")
    assert f"{GRID}: configurations without a score: 1." in table.notes


def test_what_cost_nothing_does_not_break_a_curve_and_has_no_area_over_costs(out: Path) -> None:
    searched_by(out, "triplet_grid", uses_results=True, ordered=True)
    for fold in range(3):
        edit_cost(record(out, f"triplet_grid.c01.fold{fold}"), device_share=0.0)
    found = curves(read_results(out))
    assert None not in [area(curve, DEVICE_SECONDS, found) for curve in found]
    for path in (out / "records").glob("triplet_grid.*"):
        edit_cost(path, device_share=0.0)
    found = curves(read_results(out))
    assert [area(curve, DEVICE_SECONDS, found) for curve in found] == [None] * 5
    assert None not in [area(curve, CONFIGURATIONS, found) for curve in found]
    assert_drawn(budget_plot(read_results(out)))


def test_the_budget_figure_shows_every_arm_that_is_not_far_from_the_others(out: Path) -> None:
    plot = budget_plot(read_results(out))
    assert RULE not in plot.caption
    assert panels(plot)[0].get_ylim()[0] < 42 < 78.5 < panels(plot)[0].get_ylim()[1]
    assert "Triplet + AutoMargin from 78.1 % to 78.5 % with 2" in plot.alt


def test_optimism_is_validation_minus_fresh_seeds_and_has_no_figure_before_a_test_result(out: Path) -> None:
    found = by_arm(optimism_table(read_results(out)))
    best = max(SCORES)
    expected = optimism([best + (fold - 1) / 100 for fold in range(3)], [best - 0.05 + shift for shift in SEEDS])
    row = found[GRID]
    assert float(row["optimism"]) == pytest.approx(0.05)
    assert (float(row["low"]), float(row["high"])) == pytest.approx((expected.low, expected.high))
    assert_drawn(optimism_plot(read_results(out)))
    for path in (out / "records").glob("*.seed*.json"):
        path.unlink()
    with pytest.raises(NothingToDraw, match="has a test result yet"):
        optimism_plot(read_results(out))
