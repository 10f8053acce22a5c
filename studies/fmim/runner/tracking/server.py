"""MLflow's UI on a study's database, opened where the study is shown."""

from __future__ import annotations

import os
import socket
import sys
import warnings
import webbrowser
from collections.abc import Callable
from pathlib import Path

from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.client import open_client, study_page
from fmim_core.records import StudyFile

HOST = "127.0.0.1"
SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")  # without any of them a browser would take over the terminal


def page_of(out: Path, study: StudyFile, address: TrackingAddress, tell: Callable[[str], None]) -> str:
    """Return the page of the UI that shows a study, from the UI's address on.

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
        experiment = open_client(address, tell).get_experiment_by_name(study.study)
    except Exception as error:  # whatever MLflow, its database or its server has to say
        raise ValueError(f"MLflow at {address}: {address.without_secrets(str(error))}") from None
    if experiment is None:
        raise ValueError(f"the study {study.study} of {out} is not in {address}: {again}")
    return study_page(experiment, study.id)


def serve(address: TrackingAddress, port: int, page: str, tell: Callable[[str], None]) -> None:
    """Run the UI in this process until somebody ends it, say where the page is, and open it.

    Raises:
        ValueError: the port is taken, or is not for us.
    """
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise ValueError(f"--port {port} cannot be used ({error.strerror}): give another one") from error
    from mlflow.server import ARTIFACT_ROOT_ENV_VAR, BACKEND_STORE_URI_ENV_VAR
    from uvicorn import Config, Server

    url = f"http://{HOST}:{port}/{page}"

    class Announced(Server):
        """Says where its page is once it answers."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            tell(f"MLflow shows the study at {url}\nCtrl-C ends it")
            open_page(url)

    os.environ.update({BACKEND_STORE_URI_ENV_VAR: address.whole, ARTIFACT_ROOT_ENV_VAR: "mlflow-artifacts:/"})
    os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"  # of language models
    warnings.simplefilter("ignore")  # of MLflow's libraries about each other
    Announced(Config("mlflow.server.fastapi_app:app", log_level="critical")).run([listener])


def open_page(url: str) -> None:
    """Open a page in the user's browser, if there is a screen to show it on."""
    if sys.platform == "darwin" or any(os.environ.get(name) for name in SCREENS):
        webbrowser.open(url)
