"""Building a report: what it writes and keeps, also of records that are missing, failed, stale or malformed."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from fmim_core.records import SCHEMA, json_text
from fmim_reports.build import build_report, status_lines
from fmim_reports.reading.cost import utilisation
from fmim_reports.reading.results import read_results
from tests.support.factories import make_out, write_record
from tests.support.file_contents import by_arm, edit, record, spoil, write
from tests.support.reports import table, tables_alone


def test_a_moved_folder_still_reads_and_a_second_build_writes_the_same_and_keeps_the_rest(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=("triplet_grid", "triplet_automargin"))
    (out / "report").mkdir()
    (out / "report" / "my_notes.md").write_text("mine", encoding="utf-8")
    build_report(out)
    assert not list((out / "report").rglob(".*"))
    first = {path.relative_to(out): path.read_bytes() for path in sorted((out / "report").rglob("*")) if path.is_file()}
    moved = tmp_path / "elsewhere" / "run"
    shutil.copytree(out, moved)
    shutil.rmtree(out)
    build_report(moved)
    second = {p.relative_to(moved): p.read_bytes() for p in sorted((moved / "report").rglob("*")) if p.is_file()}
    assert first == second
    assert second[Path("report/my_notes.md")] == b"mine"
    assert str(tmp_path) not in (moved / "report/index.html").read_text(encoding="utf-8")


def test_utilisation_is_busy_time_over_slots_times_wall(out: Path) -> None:
    results = read_results(out)
    assert utilisation(results.study.executions, results.trials) == pytest.approx(147 * 11.5 / 2400)
    assert math.isnan(utilisation([], results.trials))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "has no study.json"),
        ("{", "is not readable JSON"),
        ('{"schema": 9}', f"has schema 9, but this version reads {SCHEMA}"),
        (f'{{"schema": {SCHEMA}}}', "is malformed: id: is missing; study: is missing"),
    ],
)
def test_a_folder_that_is_no_run_says_so(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "study.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        build_report(tmp_path)


def test_failed_diverged_and_missing_trials_are_shown_and_not_averaged(out: Path) -> None:
    spoil(record(out, "triplet_automargin.c00.seed3"), "failed", "out of memory")
    spoil(record(out, "triplet_grid.c02.fold0"), "diverged", "loss is not a number in epoch 3")
    record(out, "triplet_q1.c00.fold2").unlink()
    tables_alone(out)
    rows = {row["arm"]: row for row in table(out, "search_cost")}
    assert rows["triplet_automargin"]["test_n"] == "4"
    # Seeds −0.02 … 0.02 backwards, without seed 3, which has 0: the mean of the rest is 0, their SE is larger.
    assert float(rows["triplet_automargin"]["test_mAP_mean"]) == pytest.approx(0.735)
    assert float(rows["triplet_grid"]["validation_mAP_mean"]) == pytest.approx(0.78 + 0.005)
    assert rows["triplet_grid"]["trials"] == "12"  # a diverged trial counts with its cost
    assert rows["triplet_q1"]["trials"] == "2"
    lost = {row["where"]: (row["what"], row["reason"]) for row in table(out, "not_counted")}
    assert lost["triplet_automargin, K_Δ = 2, seed 3"] == ("failed", "RuntimeError: out of memory")
    assert lost["triplet_grid, ε = 0.5, fold 0"][0] == "diverged"
    assert lost["triplet_q1, –, fold 2"][0] == "missing"
    assert "(n = 4 of 5)" in (out / "report/tables/search_cost.md").read_text(encoding="utf-8")
    assert status_lines(read_results(out))[:2] == [
        "100 of 102 search trials completed: 1 diverged, 1 missing.",
        "44 of 45 test replicates completed: 1 failed.",
    ]


def test_files_that_do_not_count_are_named(out: Path) -> None:
    records = out / "records"
    (records / "broken.json").write_text("{", encoding="utf-8")
    (records / "notes.txt").write_text("hello", encoding="utf-8")
    shutil.copy(record(out, "triplet_q1.c00.fold0"), records / "a_copy.json")
    superseded = write_record(out, "adatriplet_grid", 3, "replicate", 0)
    edit(record(out, "triplet_q2.c00.fold0"), study="another")
    edit(record(out, "triplet_q2.c00.fold1"), arm="nobody")
    edit(record(out, "triplet_q2.c00.fold2"), metrics={"validation": {"mAP": "high"}, "test": None})
    edit(record(out, "triplet_q2.c00.seed0"), schema=1)
    results = read_results(out)
    why = {problem.where.removeprefix("records/"): problem.why for problem in results.problems}
    said = {
        "broken.json": "the record is not readable JSON (Expecting property name",
        "notes.txt": "",
        "a_copy.json": "duplicate of triplet_q1.c00.fold0.json: not counted",
        superseded.name: "superseded: {'epsilon': 0.1, 'beta': 0.75} is not the selected",
        "triplet_q2.c00.fold0.json": "of another study",
        "triplet_q2.c00.fold1.json": "not in the plan: arm 'nobody' is unknown",
        "triplet_q2.c00.fold2.json": "the record is malformed: metrics.validation.mAP: Input should be a valid number",
        "triplet_q2.c00.seed0.json": f"the record has schema 1, but this version reads {SCHEMA}: use",
    }
    assert why.keys() == said.keys()
    assert [name for name, beginning in said.items() if not why[name].startswith(beginning)] == []
    tables_alone(out)
    named = {row["where"] for row in table(out, "not_counted")}
    assert {f"records/{name}" for name in why} <= named
    assert [row["test_n"] for row in table(out, "search_cost")] == ["5", "4", "5", "5", "5", "5", "5", "5", "5"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trial": 7}, "trial: Input should be a valid string (given '7')"),
        ({"status": "done"}, "status: Input should be 'completed', 'stopped', 'diverged' or 'failed' (given 'done')"),
        ({"history": [{"loss": 0.5}]}, "history.0.epoch: is missing"),
        ({"metrics": {"validation": None, "test": None}}, "completed without validation metrics"),
        ({"metrics": {"validation": {"mAP/4": 0.5}}}, "metrics.validation: metric key 'mAP/4'"),
        ({"verdict": "good"}, "verdict: is unknown"),
        ({"cost": ...}, "missing: cost"),
    ],
)
def test_a_malformed_record_does_not_count_and_says_why(out: Path, changes: dict[str, Any], said: str) -> None:
    path = record(out, "triplet_q1.c00.fold0")
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    write(path, {name: value for name, value in content.items() if value is not ...})
    (problem,) = read_results(out).problems
    assert problem.where == f"records/{path.name}"
    assert problem.why.startswith(f"the record is malformed: {said}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "the file is not readable JSON"),
        ("[]", f"the file has schema none (list), but this version reads {SCHEMA}"),
        (json_text(by_arm({"triplet_q1": {}})), "the file is malformed: arms.triplet_q1"),
    ],
)
def test_a_damaged_selection_or_proposals_file_is_a_problem(out: Path, content: str, said: str) -> None:
    for name in ("selection.json", "proposals.json"):
        (out / name).write_text(content, encoding="utf-8")
        why = {problem.where: problem.why for problem in read_results(out).problems}
        assert said in why[name]
    assert any(line.startswith("These arms have no selected configuration") for line in status_lines(read_results(out)))


def test_not_a_number_stays_visible(out: Path) -> None:
    path = record(out, "triplet_q1.c00.seed0")
    metrics = json.loads(path.read_text(encoding="utf-8"))["metrics"]
    metrics["test"]["mAP"] = math.nan
    edit(path, metrics=metrics)
    tables_alone(out)
    assert table(out, "search_cost")[0]["test_mAP_mean"] == "nan"
    assert "| NaN ± NaN |" in (out / "report/tables/search_cost.md").read_text(encoding="utf-8")
    assert any("triplet_q1.c00.seed0" in line for line in status_lines(read_results(out)))


def test_a_cost_that_was_not_recorded_is_not_zero(out: Path) -> None:
    spoil(edit(record(out, "triplet_q1.c00.fold0"), cost=None), "failed")
    tables_alone(out)
    row = table(out, "search_cost")[0]
    assert (row["trials"], float(row["device_seconds"])) == ("2", 24.0)
    lost = {row["where"]: row["reason"] for row in table(out, "not_counted")}
    assert lost["records/triplet_q1.c00.fold0.json"].startswith("the record is malformed: cost: Input should be")


def test_stale_selection_is_reported(out: Path) -> None:
    selection = json.loads((out / "selection.json").read_text(encoding="utf-8"))
    selection["arms"]["triplet_q1"]["score"] = 0.5
    write(out / "selection.json", selection)
    assert status_lines(read_results(out)) == [
        "Triplet + Q1: selected with a score of 0.500000, but its records now give 0.420000."
    ]
