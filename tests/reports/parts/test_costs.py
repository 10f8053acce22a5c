"""What a report says of costs: accounting, kinds of seconds, attempts and ratios; from records with known numbers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from fmim_reports.parts.comparisons.tables import ratios_table
from fmim_reports.parts.costs import accounting_table, time_table
from fmim_reports.reading.cost import cost_of, covered, search_cost
from fmim_reports.reading.results import read_results
from fmim_reports.stats import cost_ratio
from fmim_reports.writing.formats import duration
from tests.support.file_contents import edit, edit_cost, record, searched_by, spoil
from tests.support.reports import by_arm

ATTEMPT = {
    "status": "failed",
    "cost": {"startup_s": 1.0, "data_s": 0.0, "train_s": 3.0, "eval_s": 0.0, "lost_s": 2.0, "wall_s": 8.0}
    | {"energy_j": 500.0, "device": "cpu", "device_share": 0.5, "epochs": 2, "images": 100, "resumed": 0},
    "error": {"kind": "worker died", "message": "gone"},
    "started_at": "2026-01-02T03:00:00Z",
    "ended_at": "2026-01-02T03:00:10Z",
}
GRID = "Triplet + grid search"


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


def test_failed_attempts_cost_count_and_are_shown(out: Path) -> None:
    path = record(out, "triplet_grid.c00.fold0")
    edit(path, attempts=[ATTEMPT])
    edit_cost(path, wall_s=15.0, energy_j=1000.0, resumed=1)
    results = read_results(out)
    table = accounting_table(results)
    grid = by_arm(table)[GRID]
    assert (grid["trials"], grid["repeated"], grid["epochs"]) == ("12", "1", "74")
    assert grid["images"] == str(12 * 8064 + 100)
    assert (float(grid["device_seconds"]), float(grid["wasted"])) == (144.0 + 6 * 0.5, 3.0)
    # 03:05:02 to 03:05:17, and eight seconds before 03:00:10.
    assert float(grid["wall_s"]) == pytest.approx(15.0 + 8.0)
    assert table.notes[0].startswith("1 times a trial was interrupted and resumed from a checkpoint")
    cost = search_cost(results, "triplet_grid")
    assert (cost.device_seconds, cost.epochs, cost.n_s, cost.trials) == (147.0, 74, 4, 12)


def test_seconds_are_shown_by_kind_and_energy_where_every_record_tells_it(out: Path) -> None:
    row = by_arm(time_table(read_results(out)))[GRID]
    parts = ("startup_s", "data_s", "train_s", "eval_s", "outside", "peak_gb")
    assert [float(row[part]) for part in parts] == [6.0, 6.0, 120.0, 12.0, 0.0, 0.6]
    for path in (out / "records").iterdir():
        edit_cost(path, wall_s=13.5, energy_j=250.0)
    results = read_results(out)
    assert float(by_arm(accounting_table(results))[GRID]["energy_kj"]) == 12 * 0.25
    assert float(by_arm(time_table(results))[GRID]["outside"]) == pytest.approx(12 * 1.5)
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
    table = ratios_table(read_results(out))
    found = by_arm(table)
    assert list(found) == ["Triplet + Q1", "Triplet + Q2", "Triplet + WAT", "Triplet + AutoMargin"]
    row = found["Triplet + AutoMargin"]
    expected = cost_ratio(dict.fromkeys(range(3), 48.0), {fold: 2 * (12.0 + fold) for fold in range(3)})
    assert (float(row["n_s"]), float(row["epochs"]), row["n"]) == (2.0, 2.0, "3")
    assert float(row["ratio"]) == pytest.approx(144 / 78)
    assert (float(row["low"]), float(row["high"])) == (expected.low, expected.high)
    assert found["Triplet + Q1"]["low"] == ""
    assert any("Triplet + Q1: no variance: the ratio is 4" in note for note in table.notes)
    searched_by(out, "triplet_automargin", screens=True, ordered=True)  # folds differ by design
    table = ratios_table(read_results(out))
    row = by_arm(table)["Triplet + AutoMargin"]
    assert (float(row["ratio"]), row["low"]) == (pytest.approx(144 / 78), "")
    assert any("Triplet + AutoMargin: the first fold of b screens" in note for note in table.notes)


def test_durations_have_two_units() -> None:
    known = {0.04: "0.0 s", 59.94: "59.9 s", 59.96: "1 min 0 s", 495.2: "8 min 15 s", 3599.6: "1 h 0 min"}
    known |= {7500.0: "2 h 5 min", 273600.0: "3 d 4 h", math.nan: "NaN s"}
    assert {seconds: duration(seconds) for seconds in known} == known
