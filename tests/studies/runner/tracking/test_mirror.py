"""`fmim mirror`: an interrupted mirror is completed, an experiment restored, and no run made twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient

from fmim.runner.folder.locks import locked
from fmim.runner.folder.study_file import write_study
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.runs import Identity
from fmim.runner.tracking.tracker import Tracker
from fmim_core.data.bank.bank import Bank
from fmim_core.records import BAD_INPUT, DONE, SOME_FAILED, Record, read_records, record_path
from fmim_core.trial.trial import RunSettings
from tests.benchmarks.idle import IdleTrial, idle_plan
from tests.support.documents import execution, fold_entry
from tests.support.program import Program

pytestmark = pytest.mark.slow


@pytest.fixture
def out(tiny_bank: Bank, tmp_path: Path) -> Path:
    """A study's folder with the records of three trials, whose driver was killed."""
    plan, out = idle_plan(5), tmp_path / "study"
    write_study(out, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution())
    for spec in plan.possible(tiny_bank, lambda arm, search_split: ())[:3]:
        IdleTrial(spec, RunSettings(out, "cpu")).run()
    return out


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
