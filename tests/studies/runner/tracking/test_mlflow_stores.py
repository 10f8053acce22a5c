"""Where MLflow keeps runs: a server, a database, one that cannot be reached, and addresses that are refused."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from fmim.printing import TextConsole
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.contents import COST_METRICS, EPOCH_METRICS, safe_names
from fmim.runner.tracking.runs import Identity
from fmim.runner.tracking.tracker import Tracker, mirror_study
from fmim_core.metric_names import METRICS
from fmim_core.records import DONE, StudyFile, read_records
from tests.support.mini_study import mini_plan, options_in, run_here
from tests.support.mirroring import mirror_nothing
from tests.support.program import free_port, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]

SECRET = "S3CR3T"
CURVES = ("loss", "beta", "validation/mAP", "cost/train_s")


def assert_untold(folder: Path, screen: str) -> None:
    """Neither the secret nor the header that carries it is in a file below the folder or on the screen."""
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    contents.append(screen.encode())
    told = (SECRET.encode(), b64encode(f"bob:{SECRET}".encode()))
    assert sum(secret in content for content in contents for secret in told) == 0


class Refusing(BaseHTTPRequestHandler):
    """Refuses everybody, and repeats what it was asked, as some proxies do."""

    def do_GET(self) -> None:
        self.send_error(401, explain=f"not with {dict(self.headers)}")

    def log_message(self, *said: object) -> None:
        pass


def test_tracker_trouble_never_stops_training_and_no_secret_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", SECRET)
    with HTTPServer(("127.0.0.1", 0), Refusing) as refusing:
        threading.Thread(target=refusing.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{refusing.server_port}"
        options = options_in(tmp_path, tracking_uri=f"http://bob:{SECRET}@{address}")
        assert run_here(mini_plan(replicates=1), options, TextConsole(width=500)) == DONE
        refusing.shutdown()
    out = tmp_path / "study"
    assert Counter(record.status for record in read_records(out)) == {"completed": 11}
    screen = capfd.readouterr()
    told = [line for line in screen.out.splitlines() if line.startswith("MLflow at")]
    assert len(told) == 1
    assert told[0].startswith(f"MLflow at http://{address}: MlflowException: ")
    assert "401" in told[0]
    assert told[0].endswith("the next start or `fmim mirror OUT` brings it up to date")
    assert StudyFile.read(out / "study.json").executions[0].tracking_uri == f"http://{address}"
    assert_untold(tmp_path, screen.out + screen.err)


def test_a_server_that_accepts_and_never_answers_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = TrackingAddress.of(f"http://127.0.0.1:{silent.getsockname()[1]}")
        tracker = Tracker(address, Identity("silent", "an id", "mini"), list, told.append)
        assert not tracker.close("FINISHED", tmp_path)
        silent.setblocking(False)
        silent.accept()
        with pytest.raises(BlockingIOError):  # nobody has called again
            silent.accept()
    assert len(told) == 1
    assert "Read timed out. (read timeout=1)" in told[0]


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
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )
    try:
        wait_for(healthy, process, tmp_path / "server.log", seconds=90)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=90)


def test_a_server_takes_the_runs_and_the_report(server: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan = mini_plan(replicates=1)
    options = options_in(tmp_path, tracking_uri=server.replace("http://", f"http://bob:{SECRET}@"))
    assert run_here(plan, options, TextConsole(width=500)) == DONE
    assert_untold(tmp_path, "".join(capfd.readouterr()))
    client = MlflowClient(server)
    experiment = client.get_experiment_by_name("automargin_vs_grid")
    runs = client.search_runs([experiment.experiment_id])
    assert Counter(run.info.status for run in runs) == {"FINISHED": 14}  # trials, arms and the parent
    (parent,) = [run for run in runs if "fmim.arm" not in run.data.tags]
    assert {"report", "study.json", "selection.json"} <= {i.path for i in client.list_artifacts(parent.info.run_id)}

    out, uri, told = tmp_path / "study", f"sqlite:///{tmp_path}/another.db", list[str]()
    for done in ("11 trials created, 0 updated, 0 unchanged", "0 trials created, 0 updated, 11 unchanged"):
        assert mirror_study(out, StudyFile.read(out / "study.json"), TrackingAddress.of(uri), told.append)
        assert told.pop() == f"mirrored to {uri}: {done}, 0 left running closed as KILLED"
    assert told == []
    assert all_runs(MlflowClient(uri)) == all_runs(client)  # as if it had been there from the beginning


def all_runs(client: MlflowClient) -> dict[str, Any]:
    """What a client knows of the runs, without what must differ: their ids, when they were told of the epochs, and when
    they began, which is told as a trial is handed out, a moment before its worker begins it."""
    (experiment,) = [one for one in client.search_experiments() if one.name == "automargin_vs_grid"]
    found = {}
    for run in client.search_runs([experiment.experiment_id]):
        ids = ("mlflow.parentRunId", "mlflow.note.content")  # the description links to pages by them
        tags = {name: value for name, value in run.data.tags.items() if name not in ids}
        trial, number = tags.get("fmim.trial", ""), run.info.run_id
        curves = {name: [(m.step, m.value) for m in client.get_metric_history(number, name)] for name in CURVES}
        files = sorted(item.path for folder in ("", "report") for item in client.list_artifacts(number, folder or None))
        ended = run.info.end_time if trial else None
        found[trial or run.info.run_name] = (
            run.info.status,
            ended,
            tags,
            run.data.params,
            repr(run.data.metrics),
            repr(curves),
            files,
        )
    return found


def test_programs_may_start_at_once_on_a_database_that_does_not_exist(tmp_path: Path) -> None:
    """Of four plain MLflow clients on a new sqlite file, three died. Nobody else is asked or told anything."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=mirror_nothing, args=(str(tmp_path), number)) for number in range(2)]
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
    ours = (*METRICS, *EPOCH_METRICS, *COST_METRICS)
    assert len(set(safe_names(ours).values())) == len(ours)
