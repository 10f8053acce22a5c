"""`fmim compare` and `fmim overview`: several studies side by side, and all there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fmim_core.records import in_terminal


def overview(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where studies lie, e.g. runs.")] = Path("runs"),
) -> None:
    """Write FOLDER/index.html, all studies in a folder at a glance; runs and reports keep it current."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder: give the one in which studies lie, e.g. runs")
    from fmim.across.overview import write_overview

    Console().print(f"overview: {in_terminal(write_overview(folder))}", highlight=False, soft_wrap=True)
