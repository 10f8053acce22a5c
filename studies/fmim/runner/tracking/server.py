"""MLflow's UI on a study's database, opened where the study is shown."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable
from pathlib import Path

from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.mlflow_runs import ENVIRONMENT, client_of
from fmim.runner.tracking.sqlite.database import opening
from fmim.runner.tracking.sqlite.relocation import find_artifacts_again
from fmim.runner.tracking.views import study_page, view_tag
from fmim_core.records import StudyFile

HOST = "127.0.0.1"
SETTINGS = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # of language models; it would start more processes
SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")  # without any of them a browser would take over the terminal


def page_of(out: Path, study: StudyFile, address: TrackingAddress, tell: Callable[[str], None]) -> str:
    """The page of the UI that shows a study, from the UI's address on; artifacts of a moved database are found again.

    Raises:
        ValueError: there is no database, it cannot be read, or the study is not in it; says what to do.
    """
    file, again = address.file, f"`fmim mirror {out}` writes it anew from the records"
    if file is not None and not file.exists():
        raise ValueError(
            f"MLflow's database of {out} is not there: {file}. It lies beside a study's folder, as the folder "
            f"mlflow-artifacts does: copy both there, or {again}"
        )
    try:
        with opening(address, tell):
            client = client_of(address)
            find_artifacts_again(address, tell)
        experiment = client.get_experiment_by_name(study.study)
    except Exception as error:  # whatever MLflow, its database or its server has to say
        raise ValueError(f"MLflow at {address}: {address.without_secrets(str(error))}") from None
    if experiment is None:
        raise ValueError(f"the study {study.study} of {out} is not in {address}: {again}")
    return study_page(str(experiment.experiment_id), study.id, view_tag(study.id) in experiment.tags)


def serve(address: TrackingAddress, port: int, page: str, tell: Callable[[str], None]) -> int:
    """Run the UI on this machine until somebody ends it, say where the page is, and open it; returns its exit code."""
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]
    command += ["--uvicorn-opts", "--log-level warning"]
    store = {"MLFLOW_BACKEND_STORE_URI": address.whole}  # not as an argument, which everybody on this machine can read
    with subprocess.Popen(command, env=SETTINGS | ENVIRONMENT | os.environ | store) as server:
        url = f"http://{HOST}:{port}"
        while server.poll() is None and not _answers(f"{url}/health"):
            time.sleep(0.2)
        if server.poll() is None:
            tell(f"MLflow shows the study at {url}/{page}\nCtrl-C ends it")
            open_page(f"{url}/{page}")
        return server.wait()


def open_page(url: str) -> None:
    """Open a page in the user's browser, if there is a screen to show it on."""
    if sys.platform == "darwin" or any(os.environ.get(name) for name in SCREENS):
        webbrowser.open(url)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5.0):
            return True
    except (urllib.error.URLError, OSError):
        return False
