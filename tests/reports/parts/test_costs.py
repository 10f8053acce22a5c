"""What searches and trials cost, as predicted and as measured, and what a search buys: budgets, areas."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

from fmim_core.records import SCHEMA, json_text
from fmim_reports.drawing.axes import RULE
from fmim_reports.parts.budget import CONFIGURATIONS, DEVICE_SECONDS, area, budget_plot, budget_table, curves
from fmim_reports.parts.comparisons.comparison import device_ratio
from fmim_reports.parts.costs import accounting_table, search_cost_table
from fmim_reports.parts.trials import prediction_table, status_table
from fmim_reports.reading.cost import cost_of, covered, search_cost
from fmim_reports.reading.results import read_results
from fmim_reports.stats import cost_ratio
from fmim_reports.writing.formats import duration
from tests.support.factories import CALIBRATION, SPACES, configurations, level, make_out
from tests.support.file_contents import edit, edit_cost, record, searched_by, spoil, write
from tests.support.reports import assert_drawn, by_arm, panels, rows

ATTEMPT = {
    "status": "failed",
    "cost": {"startup_s": 1.0, "data_s": 0.0, "train_s": 3.0, "eval_s": 0.0, "lost_s": 2.0, "wall_s": 8.0}
    | {"energy_j": 500.0, "device": "cpu", "device_share": 0.5, "epochs": 2, "images": 100, "resumed": 0},
    "error": {"kind": "worker died", "message": "gone"},
    "started_at": "2026-01-02T03:00:00Z",
    "ended_at": "2026-01-02T03:00:10Z",
}
GRID = "Triplet + grid search"
TRIPLET = [arm for arm in SPACES if arm.startswith("triplet")]
SCORES = [level("triplet_grid", c) for c in configurations("triplet_grid")]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The five arms with the triplet loss: N_s 1, 1, 4, 4 and 2; every trial takes 12 s, 6 epochs and 8064 images."""
    return make_out(tmp_path / "out", arms=TRIPLET)


def test_each_arm_and_stage_is_accounted_for_by_itself(out: Path) -> None:
    table = accounting_table(read_results(out))
    grid = by_arm(table)[GRID]
    counts = {"n_s": 4, "trials": 12, "stopped": 0, "failed": 0, "repeated": 0, "epochs": 72, "images": 12 * 8064}
    assert {name: int(grid[name]) for name in counts} == counts
    assert (float(grid["device_seconds"]), float(grid["wasted"])) == (144.0, 0.0)
    assert float(grid["wall_s"]) == 12.0  # all trials say that they ran at the same time
    assert by_arm(table)["All arms"]["n_s"] == "12"
    assert by_arm(table, "replicate")["All arms"]["trials"] == "25"
    assert by_arm(table, "replicate")[GRID]["n_s"] == ""
    assert float(by_arm(table, "all")["All"]["device_seconds"]) == 12.0 * (36 + 25)
    assert "energy_kj" not in grid
    assert "Energy was not measured" in table.caption


def test_failed_attempts_are_shown_and_cost_no_search(out: Path) -> None:
    path = record(out, "triplet_grid.c00.fold0")
    edit(path, attempts=[ATTEMPT])
    edit_cost(path, wall_s=15.0, energy_j=1000.0, resumed=1)
    results = read_results(out)
    table = accounting_table(results)
    grid = by_arm(table)[GRID]
    assert (grid["trials"], grid["repeated"], grid["epochs"]) == ("12", "1", "72")
    assert grid["images"] == str(12 * 8064)
    assert (float(grid["device_seconds"]), float(grid["wasted"])) == (144.0, 3.0)
    # 03:05:02 to 03:05:17, and eight seconds before 03:00:10.
    assert float(grid["wall_s"]) == pytest.approx(15.0 + 8.0)
    assert table.notes[0].startswith("1 times a trial was interrupted and resumed from a checkpoint")
    cost = search_cost(results, "triplet_grid")
    assert (cost.device_seconds, cost.epochs, cost.n_s, cost.trials) == (144.0, 72, 4, 12)


def test_seconds_are_shown_by_kind_and_energy_where_every_record_tells_it(out: Path) -> None:
    row = by_arm(accounting_table(read_results(out)))[GRID]
    parts = ("startup_s", "data_s", "train_s", "eval_s", "outside", "peak_gb")
    assert [float(row[part]) for part in parts] == [6.0, 6.0, 120.0, 12.0, 0.0, 0.6]
    for path in (out / "records").iterdir():
        edit_cost(path, wall_s=13.5, energy_j=250.0)
    results = read_results(out)
    assert float(by_arm(accounting_table(results))[GRID]["energy_kj"]) == 12 * 0.25
    assert float(by_arm(accounting_table(results))[GRID]["outside"]) == pytest.approx(12 * 1.5)
    edit_cost(record(out, "triplet_grid.c00.fold0"), energy_j=None)
    assert by_arm(accounting_table(read_results(out)))[GRID]["energy_kj"] == ""


def test_a_worker_that_died_costs_what_it_was_at(out: Path) -> None:
    path = spoil(record(out, "triplet_grid.c00.fold0"), "failed", "gone")
    edit_cost(path, startup_s=0.5, data_s=0.0, train_s=1.0, eval_s=0.0, lost_s=4.0, wall_s=6.0)
    cost = search_cost(read_results(out), "triplet_grid")
    assert (cost.failed, cost.device_seconds) == (1, 11 * 12.0 + 5.5)


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("attempts", "none", "attempts: Input should be a valid tuple"),
        ("attempts", [{**ATTEMPT, "cost": {}}], "missing: attempts.0.cost.startup_s, attempts.0.cost.data_s"),
        ("cost", {}, "missing: cost.startup_s, cost.data_s, cost.train_s"),
        ("cost", None, "cost: Input should be a valid dictionary or instance of Cost"),
        ("ended_at", "yesterday", "ended_at: Invalid isoformat string: 'yesterday'"),
    ],
)
def test_a_record_that_does_not_say_what_it_cost_does_not_count(out: Path, part: str, value: Any, said: str) -> None:
    path = edit(record(out, "triplet_grid.c00.fold0"), **{part: value})
    results = read_results(out)
    (problem,) = results.problems
    assert problem.where == f"records/{path.name}"
    assert problem.why.startswith(f"the record is malformed: {said}")
    cost = search_cost(results, "triplet_grid")
    assert (cost.trials, cost.device_seconds, cost.wall_s) == (11, 11 * 12.0, 12.0)


def test_wall_time_counts_seconds_that_overlap_once_and_no_trial_costs_nothing() -> None:
    assert covered([(5, 12), (0, 10), (20, 21), (2, 3)]) == 13
    cost = cost_of([])
    assert (cost.trials, cost.device_seconds, cost.energy_j, cost.wall_s) == (0, 0, None, 0.0)


def test_cost_ratios_are_those_of_the_totals_by_fold(out: Path) -> None:
    for number in range(2):
        for fold in range(3):
            edit_cost(record(out, f"triplet_automargin.c{number:02d}.fold{fold}"), train_s=10.0 + fold)
    results = read_results(out)
    row = next(row for row in search_cost_table(results).rows if row["arm"].name == "triplet_automargin")
    assert (row["against"], row["n_s_ratio"].value, row["epochs_ratio"].value) == ("Triplet + grid search", 2.0, 2.0)
    expected = cost_ratio(dict.fromkeys(range(3), 48.0), {fold: 2 * (12.0 + fold) for fold in range(3)})
    assert row["ratio"] == expected
    assert row["ratio"].value == pytest.approx(144 / 78)
    q1 = device_ratio(results, "triplet_grid", "triplet_q1")
    assert (q1.low, q1.note.startswith("no variance: the ratio is 4")) == (None, True)
    searched_by(out, "triplet_automargin", screens=True, ordered=True)  # folds differ by design
    found = device_ratio(read_results(out), "triplet_grid", "triplet_automargin")
    assert (found.value, found.low) == (pytest.approx(144 / 78), None)
    assert found.note.startswith("the first fold of b screens")


def test_durations_have_two_units() -> None:
    known = {0.04: "0.0 s", 59.94: "59.9 s", 59.96: "1 min 0 s", 495.2: "8 min 15 s", 3599.6: "1 h 0 min"}
    known |= {7500.0: "2 h 5 min", 273600.0: "3 d 4 h", math.nan: "NaN s"}
    assert {seconds: duration(seconds) for seconds in known} == known


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
    assert "Triplet + grid search from 72.4 % to 78.0 % with 4" in plot.alt


def test_a_prediction_is_compared_with_what_was_measured(out: Path) -> None:
    write(out / "calibration.json", CALIBRATION)
    table = prediction_table(read_results(out))
    found = {row["what"]: row for row in rows(table)}
    assert float(found["Wall time"]["error"]) == pytest.approx(20.0)
    assert {float(found[name]["error"]) for name in ("Trials", "Epochs", "Training images", "Device-seconds")} == {0.0}
    assert float(found["Peak memory of a trial"]["error"]) == pytest.approx(20.0)
    assert "16 min 40 s for 2 trials at once on the CPU (no GPU is used), measured 20 min 0 s (+20 %)" in table.notes[0]
    write(out / "calibration.json", CALIBRATION | {"slots": 4})
    assert prediction_table(read_results(out)).notes[1] == "The run had 2 trials at once."


def test_a_run_that_is_not_over_is_not_compared(out: Path) -> None:
    write(out / "calibration.json", CALIBRATION)
    record(out, "triplet_grid.c00.fold0").unlink()
    table = prediction_table(read_results(out))
    assert {row["measured"] for row in rows(table)} == {""}
    assert "not all of it has run yet" in table.notes[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No prediction: fmim plan automargin_vs_grid --calibrate"),
        ("{", "calibration.json is not readable JSON"),
        (json_text(CALIBRATION | {"schema": 1}), f"calibration.json has schema 1, but this version reads {SCHEMA}"),
        (json_text(CALIBRATION | {"epochs": "many"}), "calibration.json is malformed: epochs: Input should be"),
        (json_text(CALIBRATION | {"preset": "smoke", "seed": 1}), "preset smoke, not quick; seed 1, not 0"),
        (json_text(CALIBRATION | {"data_fingerprint": "x"}), "of another plan (other data)"),
    ],
)
def test_without_a_prediction_of_this_plan_the_report_says_so(out: Path, content: str | None, said: str) -> None:
    if content is not None:
        (out / "calibration.json").write_text(content)
    table = prediction_table(read_results(out))
    assert (len(table.rows), said in table.empty) == (0, True)


def test_replicates_of_an_arm_without_a_winner_are_planned_and_missing(out: Path) -> None:
    (out / "selection.json").unlink()
    found = {row["arm"]: row for row in rows(status_table(read_results(out))) if row["stage"] == "replicate"}
    assert (found["triplet_grid"]["planned"], found["triplet_grid"]["missing"]) == ("5", "5")
