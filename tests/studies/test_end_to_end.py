"""A whole study: killed on Ray, and with the same records as one that nobody interrupted."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from mlflow import MlflowClient

from fmim.commands.options import Options
from fmim_core.records import DONE, StudyFile, read_records
from tests.stress.processes import marked, seconds_until, start
from tests.support.documents import comparable_records
from tests.support.mini_study import run_here
from tests.support.own_files import ONE_ARM, write_files
from tests.support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_code", "no_figures")]
STUDY = "one_arm"  # 8 trials in the search, 2 replicates, 4 of references


def kill_after(records: int, folder: Path) -> None:
    """Start the study on Ray, and kill its driver when so many records are there; then no process is left."""
    process = start((f"{STUDY}.py", "--preset", "smoke"), folder, str(folder))
    while len(list((folder / "runs" / STUDY / "records").glob("*.json"))) < records:
        assert process.poll() is None, (folder / "screen.txt").read_text()
        time.sleep(0.1)
    assert any("Agent" in command for command in marked(str(folder)).values())  # Ray's own processes are seen, too
    process.kill()
    process.wait(timeout=120)
    assert seconds_until(lambda: not marked(str(folder)), at_most=15) < 15, marked(str(folder))


def run_inline(folder: Path) -> None:
    """Run the study in this process, to its end."""
    study, out = folder / f"{STUDY}.py", folder / "runs" / STUDY
    options = Options(study=study, preset="smoke", out=out, backend="inline", gpus_per_trial=0.0)
    assert run_here(options.plan(), options.setup) == DONE


def tracked(folder: Path) -> Counter[str]:
    """MLflow's runs of the study by status."""
    client = MlflowClient(f"sqlite:///{folder}/runs/mlflow.db")
    experiment = client.get_experiment_by_name(STUDY)
    return Counter(run.info.status for run in client.search_runs([experiment.experiment_id], max_results=1000))


@pytest.fixture(scope="module")
def on_ray(tmp_path_factory: pytest.TempPathFactory, no_figures: None) -> Path:
    """The study on Ray, killed with -9; and its end inline, where all that is left is short.

    Ctrl-C is among the tests of the Ray backend, SIGTERM in those of the guide for clusters.
    """
    folder = tmp_path_factory.mktemp("ray")
    write_files(folder, {f"{STUDY}.py": ONE_ARM})
    kill_after(4, folder)
    run_inline(folder)
    return folder


def test_interrupted_on_ray_and_uninterrupted_inline_give_identical_records(on_ray: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {f"{STUDY}.py": ONE_ARM})
    run_inline(tmp_path)
    ours, theirs = (comparable_records(folder / "runs" / STUDY) for folder in (on_ray, tmp_path))
    assert len(ours) == 14
    assert ours == theirs


def test_nothing_ran_twice_and_the_interruptions_are_on_record(on_ray: Path) -> None:
    executions = StudyFile.read(on_ray / "runs" / STUDY / "study.json").executions
    assert [execution.exit_code for execution in executions] == [None, 0]
    records = list(read_records(on_ray / "runs" / STUDY))
    last = executions[-1].started_at
    assert executions[-1].trials == sum(record.started_at > last for record in records) <= 14 - 4
    assert Counter(record.status for record in records) == {"completed": 14}


def test_the_tracker_ends_with_every_trial_finished_and_none_running(on_ray: Path) -> None:
    assert tracked(on_ray) == {"FINISHED": 16}  # trials, the arm, and the parent


def test_the_report_says_that_phantoms_are_no_radiographs(on_ray: Path) -> None:
    page = (on_ray / "runs" / STUDY / "report" / "index.html").read_text(encoding="utf-8")
    assert "synthetic, not radiographs" in page
    for name in ("http://", "https://"):
        assert f'src="{name}' not in page


def test_status_and_report_work_on_a_finished_folder(on_ray: Path, fmim_here: Program) -> None:
    status = fmim_here("status", f"runs/{STUDY}", cwd=on_ray)
    assert status.returncode == 0
    assert "14 of 14 trials are over" in status.stdout
    page = on_ray / "runs" / STUDY / "report" / "index.html"
    before = page.read_bytes()
    assert fmim_here("report", f"runs/{STUDY}", cwd=on_ray).returncode == 0
    assert page.read_bytes() == before
