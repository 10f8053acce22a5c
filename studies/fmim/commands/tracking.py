"""`fmim mirror` and `fmim ui`: what the command line has for MLflow."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fmim.commands.arguments import StudyFolder
from fmim.printing.console import TextConsole
from fmim.runner.ending.exit_codes import SOME_FAILED
from fmim.runner.folder.ownership import study_folder
from fmim.runner.tracking.address import TrackingAddress
from fmim_core.records import StudyFile, study_path


def mirror(
    out: StudyFolder,
    tracking_uri: Annotated[
        str | None, typer.Option(help="MLflow's database or server; default where the study was mirrored to.")
    ] = None,
) -> None:
    """Bring MLflow up to date from the records of a study that nobody runs now; nothing is written twice."""
    study = _study(out)
    address = TrackingAddress.of_study(out, study) if tracking_uri is None else TrackingAddress.of(tracking_uri)
    from fmim.runner.tracking.mirror import mirror_study

    if not mirror_study(out, study, address, _tell):
        raise typer.Exit(SOME_FAILED)


def ui(
    out: StudyFolder,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on this machine.")] = 5000,
) -> None:
    """Open MLflow's page of a study, in the database or on the server that it was mirrored to."""
    from fmim.runner.tracking.server import open_page, page_of, serve

    study = _study(out)
    address = TrackingAddress.of_study(out, study)
    page = page_of(out, study, address, _tell)
    if address.is_server:
        _tell(f"MLflow shows the study at {address}/{page}")
        open_page(f"{address}/{page}")
        return
    serve(address, port, page, _tell)


def _tell(text: str) -> None:
    TextConsole().say(text)


def _study(out: Path) -> StudyFile:
    return StudyFile.read(study_path(study_folder(out)))
