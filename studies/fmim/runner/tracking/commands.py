"""`fmim mirror`, as the command line has it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fmim.exit_codes import SOME_FAILED
from fmim_core.records import study_path


def mirror(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A study's folder, e.g. runs/automargin_vs_grid.")],
    tracking_uri: Annotated[
        str | None, typer.Option(help="MLflow's database or server; default where the study was mirrored to.")
    ] = None,
) -> None:
    """Bring MLflow up to date from the records of a study that nobody runs now; nothing is written twice."""
    if not study_path(out).is_file():
        raise ValueError(f"{out} is not a study's folder: it has no study.json")
    from fmim.runner.tracking.mirror import mirror_study

    def tell(text: str) -> None:
        Console().print(text, markup=False, highlight=False, soft_wrap=True)

    if not mirror_study(out, tracking_uri, tell):
        raise typer.Exit(SOME_FAILED)
