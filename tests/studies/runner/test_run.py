"""A whole small study in this process: records, resuming, the folder's rules, and the MLflow mirror."""

from __future__ import annotations

import io
import json
import math
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from mlflow import MlflowClient

from fmim.printing import TextConsole
from fmim_core.records import (
    DONE,
    Execution,
    PlannedTrials,
    Record,
    SelectionFile,
    StudyFile,
    queries_path,
    read_json,
    read_records,
    record_path,
    write_json,
)
from fmim_core.trial.checkpoint import checkpoint_path, kept_weights
from fmim_reports.parts.queries.shown import shown_rows
from fmim_reports.reading.results import read_results
from tests.support.documents import comparable_records
from tests.support.mini_study import mini_plan, options_in, run_here, tracked_in
from tests.support.reports import without_figures

pytestmark = pytest.mark.slow


def run(root: Path, out: str = "study", **changes: Any) -> int:
    """Run the small study inline in a folder of its own."""
    plan = mini_plan(**{key: changes.pop(key) for key in ("seed", "replicates", "epochs") if key in changes})
    given = {"out": root / out, "seed": plan.seed, "tracking_uri": tracked_in(root)} | changes
    return run_here(plan, options_in(root, **given))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the small study has run to its end."""
    root = tmp_path_factory.mktemp("finished")
    assert run(root) == DONE
    return root


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it to change, where reports have no figures; the folder has moved, and its records do not mind."""
    with without_figures():
        yield Path(shutil.copytree(finished, tmp_path / "copy"))


def runs_of(root: Path) -> list[Any]:
    client = MlflowClient(f"sqlite:///{root}/mlflow.db")
    experiment = client.get_experiment_by_name("automargin_vs_grid")
    found = client.search_runs([experiment.experiment_id], max_results=1000)
    return [run for run in found if run.data.tags.get("fmim.stage") != "selected"]  # which are of arms


def executions(root: Path) -> list[Execution]:
    return list(StudyFile.read(root / "study" / "study.json").executions)


def test_the_plan_is_run_whole(finished: Path) -> None:
    records = list(read_records(finished / "study"))
    assert Counter((r.arm, r.stage, r.status) for r in records) == {
        ("triplet_grid", "search", "completed"): 4,
        ("triplet_grid", "replicate", "completed"): 2,
        ("adatriplet_automargin", "search", "completed"): 2,
        ("adatriplet_automargin", "replicate", "completed"): 2,
        ("reference.pixels", "reference", "completed"): 1,
        ("reference.pixels_less_mean", "reference", "completed"): 1,
        ("reference.untrained_network", "reference", "completed"): 2,
    }
    chosen = SelectionFile.read(finished / "study" / "selection.json").arms
    for record in records:
        if record.stage == "replicate":
            assert record.configuration == chosen[record.arm].configuration
            assert record.test_opened_at >= chosen[record.arm].selected_at
    without_beta = Record.read(record_path(finished / "study", "triplet_grid.c00.fold1"))
    assert all(math.isnan(row.beta) for row in without_beta.history)


def test_study_json_holds_the_plan_the_data_and_the_execution(finished: Path) -> None:
    study = StudyFile.read(finished / "study" / "study.json")
    assert study.plan == PlannedTrials(search_trials=6, replicate_trials=4, reference_trials=4)
    assert [(arm.name, arm.n_s) for arm in study.arms] == [("adatriplet_automargin", 1), ("triplet_grid", 2)]
    assert [fold.train_subjects + fold.validation_subjects for fold in study.folds] == [12, 12]
    assert (study.data.name, study.data.synthetic, study.data.test.subjects) == ("phantom", True, 6)
    execution = executions(finished)[0]
    assert (execution.trials, execution.exit_code, execution.slots) == (14, 0, 1)


def test_replicates_leave_their_queries_and_the_report_shows_them(finished: Path) -> None:
    out = finished / "study"
    tested = [record for record in read_records(out) if record.stage != "search"]
    assert all(record.queries_sha256 for record in tested)
    assert {path.name for path in (out / "records").glob("*.parquet")} == {
        queries_path(out, record.trial).name for record in tested
    }
    results = read_results(out)
    assert results.problems == ()
    for arm in results.arms:
        means = results.queries.values(arm.name, results.metric).mean(axis=1).to_dict()
        recorded = {one.replicate: one.metrics.test["mAP"] for one in tested if one.arm == arm.name}
        assert means == pytest.approx(recorded, abs=1e-12)
    shown = {str(row) for row in shown_rows(results)}
    assert {path.stem for path in (out / "samples").glob("*.png")} == shown
    figures = {path.name for path in (out / "report" / "figures").iterdir()}
    assert {"retrieval_samples.png", "worst_queries.png"} <= figures


def test_resuming_runs_what_is_missing_or_failed_and_gives_the_same_records_and_runs(copy: Path) -> None:
    out = copy / "study"
    before = comparable_records(out)
    record_path(out, "triplet_grid.c00.fold1").unlink()
    failed = record_path(out, "adatriplet_automargin.c00.seed1")
    write_json(failed, read_json(failed) | {"status": "failed"})
    queries = queries_path(out, "adatriplet_automargin.c00.seed0")
    content = queries.read_bytes()
    queries.unlink()
    assert run(copy) == DONE
    assert executions(copy)[-1].trials == 3
    assert comparable_records(out) == before
    assert [attempt.status for attempt in Record.read(failed).attempts] == ["failed"]
    assert queries.read_bytes() == content
    runs = runs_of(copy)
    assert len(runs) == 15
    assert {run.info.status for run in runs} == {"FINISHED"}
    client = MlflowClient(f"sqlite:///{copy}/mlflow.db")
    (again,) = [run for run in runs if run.data.tags.get("fmim.trial") == "triplet_grid.c00.fold1"]
    assert [metric.step for metric in client.get_metric_history(again.info.run_id, "loss")] == [1, 2]


def test_the_same_command_again_runs_nothing_and_more_replicates_extend_a_study(copy: Path) -> None:
    before = comparable_records(copy / "study")
    assert run(copy) == DONE
    assert executions(copy)[-1].trials == 0
    assert comparable_records(copy / "study") == before
    assert run(copy, replicates=3) == DONE
    assert executions(copy)[-1].trials == 3  # one more for each arm, and of the untrained network


DAMAGES = {
    "triplet_grid.c00.fold0": b"",
    "triplet_grid.c01.fold1": b"\0" * 500,
    "adatriplet_automargin.c00.fold0": b"[]",
}


def test_damaged_records_and_queries_are_set_aside_and_their_trials_run_again(copy: Path) -> None:
    out = copy / "study"
    before = comparable_records(out)
    damages = {record_path(out, trial): content for trial, content in DAMAGES.items()}
    changed = record_path(out, "adatriplet_automargin.c00.fold1")
    damages[changed] = changed.read_bytes().replace(b'"mAP": 0.', b'"mAP": 0.1')  # a digit more
    queries = queries_path(out, "adatriplet_automargin.c00.seed0")
    flipped = bytearray(queries.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    damages[queries] = bytes(flipped)
    for path, content in damages.items():
        path.write_bytes(content)
    told = io.StringIO()
    assert run_here(mini_plan(), options_in(copy), TextConsole(file=told, width=1000)) == DONE
    assert comparable_records(out) == before
    for path, content in damages.items():
        (aside,) = out.glob(f"records/{path.name}.damaged-*")
        assert aside.read_bytes() == content
        assert f"moved to {aside.name}, and its trial runs again" in told.getvalue()


def test_lost_weights_are_noticed_and_made_again_if_asked_for(copy: Path) -> None:
    out, (lost, damaged) = copy / "study", ("adatriplet_automargin.c00.seed0", "adatriplet_automargin.c00.seed1")
    before, whole = comparable_records(out), checkpoint_path(out, damaged).read_bytes()
    checkpoint_path(out, lost).unlink()
    checkpoint_path(out, damaged).write_bytes(whole[:-100])
    for remake, trials in ((False, 0), (True, 2), (True, 0)):
        told = io.StringIO()
        options = options_in(copy, tracking_uri=tracked_in(copy), remake_weights=remake)
        assert run_here(mini_plan(), options, TextConsole(file=told, width=1000)) == DONE
        assert executions(copy)[-1].trials == trials
        assert ("finished trials without weights: 2 (" in told.getvalue()) == (not remake or trials == 2)
        assert comparable_records(out) == before
    assert kept_weights(out, Record.read(record_path(out, lost)))
    assert kept_weights(out, Record.read(record_path(out, damaged)))


def test_every_trial_is_a_child_run_with_parameters_steps_cost_and_its_record(finished: Path) -> None:
    client = MlflowClient(f"sqlite:///{finished}/mlflow.db")
    runs = {run.data.tags.get("fmim.trial", ""): run for run in runs_of(finished)}
    parent = runs.pop("")
    assert len(runs) == 14  # 6 of the search, 4 replicates, 4 of references
    assert {run.info.status for run in [parent, *runs.values()]} == {"FINISHED"}
    assert {run.data.tags["mlflow.parentRunId"] for run in runs.values()} == {parent.info.run_id}
    run = runs["adatriplet_automargin.c00.fold1"]
    record = Record.read(record_path(finished / "study", "adatriplet_automargin.c00.fold1"))
    (read,) = client.get_run(run.info.run_id).inputs.dataset_inputs
    data = StudyFile.read(finished / "study" / "study.json").data
    assert (read.dataset.name, read.dataset.digest) == ("phantom", data.fingerprint[:32])
    tested = [
        r.metrics.test["mAP"] for r in read_records(finished / "study") if r.trial.startswith(f"{record.arm}.c00.s")
    ]
    assert parent.data.metrics[f"test_mAP/{record.arm}"] == pytest.approx(fmean(tested), abs=1e-12)
    assert parent.data.metrics[f"test_mAP_se/{record.arm}"] == pytest.approx(stdev(tested) / len(tested) ** 0.5)
    first, empty = record.history[0], sum(row.empty_batches for row in record.history)
    assert (run.data.metrics["initial_epsilon"], run.data.metrics["initial_beta"]) == (first.epsilon, first.beta)
    assert run.data.metrics["empty_batches_share"] == empty / sum(row.batches for row in record.history)
    for name in ("loss", "epsilon", "beta", "delta_mean", "phi_an_mean", "validation_mAP"):
        history = [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, name)]
        assert history == [(row.epoch, getattr(row, name)) for row in record.history]
    assert run.data.metrics["validation/mAP/year_4"] == record.metrics.validation["mAP/year_4"]
    for name in ("train_s", "wall_s"):
        assert run.data.metrics[f"cost/{name}"] == getattr(record.cost, name)
    mirrored = json.loads(Path(client.download_artifacts(run.info.run_id, "record.json")).read_text())
    assert mirrored["config"] == record.config
    names = {item.path for item in client.list_artifacts(parent.info.run_id)}
    assert {"report", "study.json", "selection.json"} <= names
    assert {"report/index.html", "report/figures", "report/tables"} <= {
        item.path for item in client.list_artifacts(parent.info.run_id, "report")
    }


def test_a_damaged_tracker_of_the_studys_own_is_made_anew_from_the_records(copy: Path) -> None:
    damaged = bytes(4096)
    (copy / "mlflow.db").write_bytes(damaged)
    assert run(copy, tracking_uri=None) == DONE
    (aside,) = copy.glob("mlflow.db.damaged-*")
    assert aside.read_bytes() == damaged
    runs = runs_of(copy)
    assert Counter(run.info.status for run in runs) == {"FINISHED": 15}
