"""Whole studies on the smoke preset: interrupted on Ray and inline with the same records."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from mlflow import MlflowClient

from fmim.runner.backends.backend import KILLED
from fmim_core.records import StudyFile, read_records
from tests.stress.processes import marked, seconds_until, start
from tests.support.comparison import comparable_records
from tests.support.program import fmim
from tests.support.services import free_port

pytestmark = pytest.mark.slow
STUDY = "lambda_sweep"  # fewer trials: 8 in the search, 8 replicates, 4 of references


def stop_after(records: int, number: signal.Signals, folder: Path) -> int:
    """Start the study on Ray, send the signal when so many records are there, and return the exit code.

    Then no process and no scratch folder is left.
    """
    process = start((STUDY, "--preset", "smoke"), folder, str(folder))
    while len(list((folder / "runs" / STUDY / "records").glob("*.json"))) < records:
        assert process.poll() is None, screen(folder)
        time.sleep(0.1)
    assert any("Agent" in command for command in marked(str(folder)).values())  # Ray's own processes are seen, too
    process.send_signal(number)
    code = process.wait(timeout=120)
    assert seconds_until(lambda: not marked(str(folder)), at_most=15) < 15, marked(str(folder))
    assert list((folder / "tmp").glob("fmim-*")) == []
    return code


def screen(folder: Path) -> str:
    """What the study has said."""
    return (folder / "screen.txt").read_text()


def tracked(folder: Path) -> Counter[str]:
    """MLflow's runs of the study by status."""
    client = MlflowClient(f"sqlite:///{folder}/runs/mlflow.db")
    experiment = client.get_experiment_by_name(STUDY)
    return Counter(run.info.status for run in client.search_runs([experiment.experiment_id], max_results=1000))


@pytest.fixture(scope="module")
def on_ray(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study on Ray: SIGTERM, then kill -9, then Ctrl-C; and its end inline, where all that is left is short."""
    folder = tmp_path_factory.mktemp("ray")
    assert stop_after(3, signal.SIGTERM, folder) == 130
    assert "RUNNING" not in tracked(folder)
    assert stop_after(8, signal.SIGKILL, folder) == -signal.SIGKILL
    assert KILLED in screen(folder)
    assert stop_after(14, signal.SIGINT, folder) == 130
    assert screen(folder).count(f"interrupted; to go on: fmim run {STUDY} --preset smoke") == 2
    process = start((STUDY, "--preset", "smoke", "--backend", "inline"), folder, str(folder))
    assert process.wait(timeout=300) == 0, screen(folder)
    return folder


@pytest.fixture(scope="module")
def inline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study in one process, uninterrupted."""
    folder = tmp_path_factory.mktemp("inline")
    done = fmim(STUDY, "--preset", "smoke", "--backend", "inline", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_interrupted_on_ray_and_uninterrupted_inline_give_identical_records(on_ray: Path, inline: Path) -> None:
    ours, theirs = (comparable_records(folder / "runs" / STUDY) for folder in (on_ray, inline))
    assert len(ours) == 20
    assert ours == theirs


def test_nothing_ran_twice_and_the_interruptions_are_on_record(on_ray: Path) -> None:
    executions = StudyFile.read(on_ray / "runs" / STUDY / "study.json").executions
    assert [execution.exit_code for execution in executions] == [130, None, 130, 0]
    records = list(read_records(on_ray / "runs" / STUDY))
    last = executions[-1].started_at
    assert executions[-1].trials == sum(record.started_at > last for record in records) <= 20 - 14
    assert Counter(record.status for record in records) == {"completed": 20}


def test_the_tracker_ends_with_every_trial_finished_and_none_running(on_ray: Path) -> None:
    assert tracked(on_ray) == {"FINISHED": 21}


def test_the_report_says_that_phantoms_are_no_radiographs(on_ray: Path) -> None:
    page = (on_ray / "runs" / STUDY / "report" / "index.html").read_text(encoding="utf-8")
    assert "synthetic, not radiographs" in page
    for name in ("http://", "https://"):
        assert f'src="{name}' not in page


def test_status_and_report_work_on_a_finished_folder(on_ray: Path) -> None:
    status = fmim("status", f"runs/{STUDY}", cwd=on_ray)
    assert status.returncode == 0
    assert "20 of 20 trials are over" in status.stdout
    page = on_ray / "runs" / STUDY / "report" / "index.html"
    before = page.read_bytes()
    assert fmim("report", f"runs/{STUDY}", cwd=on_ray).returncode == 0
    assert page.read_bytes() == before


def test_a_killed_ui_leaves_no_server(on_ray: Path) -> None:
    """MLflow's server starts others, which outlived it."""
    mark = f"{on_ray}/ui"
    process = start(("ui", f"runs/{STUDY}", "--port", str(free_port())), on_ray, mark)
    assert seconds_until(lambda: len(marked(mark)) >= 4, at_most=60) < 60, screen(on_ray)
    process.kill()
    assert seconds_until(lambda: not marked(mark), at_most=15) < 15, marked(mark)
