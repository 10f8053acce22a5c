"""The MLflow mirror, on a real sqlite store and records of trials that did nothing; and `fmim mirror`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from mlflow import MlflowClient

from fmim.plan import Plan
from fmim.runner.folder.locks import locked
from fmim.runner.folder.study_file import write_study
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.runs import Identity, Runs
from fmim.runner.tracking.tracker import Tracker
from fmim_core.data.bank.bank import Bank
from fmim_core.records import (
    BAD_INPUT,
    DONE,
    SOME_FAILED,
    Member,
    Record,
    flat,
    read_records,
    record_path,
)
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings
from tests.benchmarks.runner import IdleTrial, idle_plan
from tests.support.documents import execution, fold_entry
from tests.support.mini_study import with_epochs
from tests.support.program import Program

IDENTITY = Identity("idle", "an id", "smoke", {"seed": 0})
EPOCHS = 1100  # more metrics than MLflow takes at once


def trials(bank: Bank, out: Path, number: int = 1) -> list[tuple[TrialSpec, Record]]:
    plan = Plan(idle_plan(5).study, with_epochs(idle_plan(5).preset, EPOCHS), seed=0, replicates=0)
    specs = plan.possible(bank, lambda arm, search_split: ())[:number]
    return [(spec, IdleTrial(spec, RunSettings(out, "cpu")).run()) for spec in specs]


def address(folder: Path) -> TrackingAddress:
    return TrackingAddress.beside(folder / "study")


def milliseconds(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp() * 1000)


@pytest.mark.slow
def test_a_trial_that_is_over_is_written_whole_with_its_own_times(tiny_bank: Bank, tmp_path: Path) -> None:
    ((spec, record),) = trials(tiny_bank, tmp_path)
    record = record.changed({"started_at": "2026-01-02T03:04:05.678Z", "ended_at": "2026-01-02T04:04:05.678Z"})
    runs = Runs(address(tmp_path), IDENTITY, print)
    list(runs.connect())
    runs.write(record, over=True)
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    (run,) = client.search_runs(["1"], f"tags.`fmim.trial` = '{spec.id}'")
    assert (run.info.start_time, run.info.end_time) == tuple(map(milliseconds, (record.started_at, record.ended_at)))
    assert run.info.status == "FINISHED"
    assert run.data.tags["fmim.status"] == "completed"
    assert run.info.run_name == "triplet_grid, ε = 0 · fold 0"
    training = {name: str(value) for name, value in flat(record.config)}
    told = {"arm": "triplet_grid", "stage": "search", "replicate": "0", "seed": str(record.seed), "epsilon": "0.0"}
    assert run.data.params == training | told
    assert run.data.metrics["system/device_seconds"] == record.cost.device_seconds
    assert [metric.step for metric in client.get_metric_history(run.info.run_id, "loss")] == list(range(1, EPOCHS + 1))
    assert run.data.metrics["validation/mAP_at_R"] == record.metrics.validation["mAP_at_R"]


@pytest.mark.slow
def test_a_fold_ensemble_shows_the_first_curve_and_each_members_validation(tiny_bank: Bank, tmp_path: Path) -> None:
    ((spec, record),) = trials(tiny_bank, tmp_path)
    rows = record.history[:3]
    members = tuple(
        Member(fold=fold, seed=fold, kept_epoch=2 + fold, validation={"mAP": 0.5 + fold / 10}, history=rows)
        for fold in range(2)
    )
    runs = Runs(address(tmp_path), IDENTITY, print)
    list(runs.connect())
    runs.write(record.model_copy(update={"history": (*rows, *rows[:2])}), over=False)  # the second member has begun
    runs.write(record.changed({"history": rows, "members": members}), over=True)
    client = MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    (run,) = client.search_runs(["1"], f"tags.`fmim.trial` = '{spec.id}'")
    assert [metric.step for metric in client.get_metric_history(run.info.run_id, "loss")] == [1, 2, 3]
    found = [run.data.metrics[f"fold{fold}/{name}"] for fold in range(2) for name in ("kept_epoch", "validation/mAP")]
    assert found == [2, 0.5, 3, 0.6]


def test_what_happens_while_the_store_is_busy_is_put_together(tiny_bank: Bank, tmp_path: Path) -> None:
    """10,000 trials on a slow disk must not pile up epoch by epoch."""
    (first, first_record), (second, second_record) = trials(tiny_bank, tmp_path, 2)
    path = tmp_path / "mlflow.db"
    tracker = Tracker(address(tmp_path), IDENTITY, list)
    assert tracker.settle()
    before = tracker.written
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    for spec, record in ((first, first_record), (second, second_record)):
        tracker.started(spec)
        for row in record.history[:100]:
            tracker.epoch(spec, row)
    tracker.finished(first, first_record)
    assert not tracker.settle(timeout_s=0.1)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert tracker.settle()
    assert tracker.written - before <= 4  # of each trial what there was when its turn came, and perhaps the rest
    assert tracker.close("FINISHED", tmp_path)
    client = MlflowClient(f"sqlite:///{path}")
    runs = {run.data.tags.get("fmim.trial"): run for run in client.search_runs(["1"])}
    assert {name: run.info.status for name, run in runs.items()} == {
        None: "FINISHED",
        first.id: "FINISHED",
        second.id: "KILLED",
    }
    for spec, epochs in ((first, EPOCHS), (second, 100)):
        history = client.get_metric_history(runs[spec.id].info.run_id, "validation_mAP")
        assert [metric.step for metric in history] == list(range(1, epochs + 1))


def test_what_was_missed_while_the_store_was_away_is_written_at_the_end(tiny_bank: Bank, tmp_path: Path) -> None:
    """Of a trial whose worker died before it began, too."""
    spec = idle_plan(5).possible(tiny_bank, lambda arm, search_split: ())[0]
    record, records, told = spec.record("2026-01-02T03:04:05.678Z"), list[Record](), list[str]()
    tracker = Tracker(address(tmp_path), IDENTITY, lambda: records, told.append)
    assert tracker.settle()
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as store:
        store.execute("ALTER TABLE runs RENAME TO not_here")
        records.append(record)
        tracker.finished(spec, record)
        assert tracker.settle()
        assert ["no such table: runs" in one for one in told] == [True]
        tracker.finished(spec, record)  # nothing is kept for a mirror that is off
        assert tracker.settle()
        store.execute("ALTER TABLE not_here RENAME TO runs")
    assert tracker.close("FAILED", tmp_path)
    assert len(told) == 1
    client = MlflowClient(address(tmp_path).whole)
    (run,) = client.search_runs(["1"], f"tags.`fmim.trial` = '{spec.id}'")
    assert run.info.status == "FAILED"


# --- fmim mirror


@pytest.fixture
def out(tiny_bank: Bank, tmp_path: Path) -> Path:
    """A study's folder with the records of three trials, whose driver was killed."""
    plan, out = idle_plan(5), tmp_path / "study"
    write_study(out, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution())
    for spec in plan.possible(tiny_bank, lambda arm, search_split: ())[:3]:
        IdleTrial(spec, RunSettings(out, "cpu")).run()
    return out


@pytest.mark.slow
def test_an_interrupted_mirror_is_completed_and_nothing_is_written_twice(out: Path) -> None:
    first, second, third = read_records(out)
    address, told = TrackingAddress.beside(out), list[str]()
    identity = Identity("idle", "an id", "smoke")
    part = out.parent / ".mlflow.db.part"  # of a process that was killed while it made the database
    part.mkdir()
    (part / "mlflow.db").write_bytes(b"half of it")

    def interrupted() -> Iterator[Record]:
        yield first
        raise OSError("Input/output error")

    assert not Tracker(address, identity, interrupted, told.append).close("KILLED", out.parent)
    assert [one.partition(": OSError: Input/output error. Records are complete")[0] for one in told] == [
        f"MLflow at {address}"
    ]
    assert not part.exists()
    client = MlflowClient(address.whole)
    (experiment,) = [one.experiment_id for one in client.search_experiments() if one.name == "idle"]
    for trial in (second.trial, "of a worker that was killed"):  # as a process leaves them that is killed at once
        client.create_run(experiment, tags={"fmim.study_id": "an id", "fmim.trial": trial})

    again = Tracker(address, identity, lambda: read_records(out), told.append)
    assert again.close("FINISHED", out.parent)
    assert again.caught_up == {"unchanged": 1, "updated": 1, "created": 1, "killed": 1}
    runs = {run.data.tags.get("fmim.trial", ""): run for run in client.search_runs([experiment])}
    assert len(client.search_runs([experiment])) == len(runs) == 5
    assert {name: run.info.status for name, run in runs.items()} == {
        "": "FINISHED",
        **dict.fromkeys((first.trial, second.trial, third.trial), "FINISHED"),
        "of a worker that was killed": "KILLED",
    }
    made_whole, as_ever = runs[second.trial], runs[third.trial]
    assert made_whole.data.params.keys() == as_ever.data.params.keys()
    assert made_whole.data.metrics.keys() == as_ever.data.metrics.keys()
    steps = [[one.step for one in client.get_metric_history(run.info.run_id, "loss")] for run in (made_whole, as_ever)]
    assert steps == [[row.epoch for row in second.history]] * 2


@pytest.mark.slow
def test_the_command_says_what_it_did_and_restores_a_deleted_experiment(out: Path, fmim_here: Program) -> None:
    uri = f"sqlite:///{out.parent}/mlflow.db"
    with locked(out):
        done = fmim_here("mirror", out, "--tracking-uri", uri, cwd=out.parent)
    assert (done.returncode, "is running in" in done.stderr) == (BAD_INPUT, True)
    done = fmim_here("mirror", out, cwd=out.parent)
    assert (done.returncode, "/nowhere.db, to which" in done.stderr) == (BAD_INPUT, True)
    broken = record_path(out, next(read_records(out)).trial)
    content = broken.read_bytes()
    broken.write_bytes(content[:100])
    done = fmim_here("mirror", out, "--tracking-uri", uri, cwd=out.parent)
    assert done.returncode == DONE
    assert f"mirrored to {uri}: 2 trials created, 0 updated, 0 unchanged, 0 left running" in done.stdout
    assert f"{broken}" in done.stdout.partition(": left out; the next start sets it aside")[0]
    broken.write_bytes(content)
    client = MlflowClient(uri)
    study = next(read_records(out)).study
    experiment = client.get_experiment_by_name(study)
    client.delete_experiment(experiment.experiment_id)
    done = fmim_here("mirror", out, "--tracking-uri", uri, cwd=out.parent)
    assert f"the experiment {study!r} had been deleted there, and is restored with all its runs" in done.stdout
    assert "1 trials created, 0 updated, 2 unchanged" in done.stdout
    assert len(client.search_runs([experiment.experiment_id])) == 4
    done = fmim_here("mirror", out, "--tracking-uri", "http://127.0.0.1:9", cwd=out.parent)
    assert (done.returncode, "Connection refused" in done.stdout) == (SOME_FAILED, True)
