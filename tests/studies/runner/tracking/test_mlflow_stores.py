"""Where MLflow keeps runs: a server, a database, one that cannot be reached, and addresses that are refused."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient
from rich.console import Console

from fmim.exit_codes import DONE
from fmim.runner.run_study import run_plan
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.mlflow_runs import Identity
from fmim.runner.tracking.tracker import Tracker
from fmim.runner.tracking.values import safe_names
from fmim_core.records import (
    read_records,
)
from tests.support.mini_study import mini_plan, options_in
from tests.support.services import free_port, wait_for

pytestmark = pytest.mark.slow


def test_tracker_trouble_never_stops_training(tmp_path: Path) -> None:
    plan = mini_plan(replicates=1)
    options = options_in(tmp_path, tracking_uri="http://127.0.0.1:9")  # nobody listens there
    console = Console(record=True, quiet=False, width=200, file=(tmp_path / "screen.txt").open("w"))
    assert run_plan(plan, options, console) == DONE
    assert Counter(record.status for record in read_records(tmp_path / "study")) == {"completed": 11}
    screen = console.export_text()
    assert "MLflow at http://127.0.0.1:9: MlflowException" in screen
    assert screen.count("MLflow at") == 1
    assert "Records are complete without it" in screen


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A real MLflow server on this machine; its address."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    store = [
        "--backend-store-uri",
        f"sqlite:///{tmp_path}/server.db",
        "--artifacts-destination",
        str(tmp_path / "kept"),
    ]
    command = [sys.executable, "-m", "mlflow", "server", *store, "--port", str(port), "--workers", "1"]

    def healthy() -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/health") as answer:
            assert answer.read() == b"OK"
            return True
        return False

    with (tmp_path / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for(healthy, process, tmp_path / "server.log", seconds=90)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=30)


def test_a_server_takes_the_runs_and_the_report(server: str, tmp_path: Path) -> None:
    plan = mini_plan(replicates=1)
    options = options_in(tmp_path, tracking_uri=server)
    assert run_plan(plan, options, Console(quiet=True)) == DONE
    client = MlflowClient(server)
    experiment = client.get_experiment_by_name("automargin_vs_grid")
    runs = client.search_runs([experiment.experiment_id])
    assert Counter(run.info.status for run in runs) == {"FINISHED": 12}
    (parent,) = [run for run in runs if "fmim.trial" not in run.data.tags]
    assert {"report", "study.json", "selection.json"} <= {i.path for i in client.list_artifacts(parent.info.run_id)}


def _finish_one(root: str, number: int) -> None:
    identity = Identity("race", f"study{number}", "mini")
    assert Tracker(TrackingAddress.of(f"sqlite:///{root}/new.db"), identity, list).close("FINISHED", [])


def test_programs_may_start_at_once_on_a_database_that_does_not_exist(tmp_path: Path) -> None:
    """Of four plain MLflow clients on a new sqlite file, three died."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_finish_one, args=(str(tmp_path), number)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 2
    client = MlflowClient(f"sqlite:///{tmp_path}/new.db")
    experiment = client.get_experiment_by_name("race")
    assert Counter(run.info.status for run in client.search_runs([experiment.experiment_id])) == {"FINISHED": 2}


def test_names_are_made_safe_in_one_place_and_two_must_not_become_one() -> None:
    assert safe_names(["mAP@R", "CMC_1", "a%b[0]"]) == {"mAP@R": "mAP_at_R", "CMC_1": "CMC_1", "a%b[0]": "a_b_0_"}
    with pytest.raises(ValueError, match=r"'a%b' and 'a\[b' are both 'a_b'"):
        safe_names(["a%b", "a[b"])
