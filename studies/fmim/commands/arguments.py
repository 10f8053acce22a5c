"""Arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fmim.commands.completion import complete_out

StudyFolder = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="A study's folder, e.g. runs/automargin_vs_grid.", autocompletion=complete_out),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output, and nothing else.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything and print the plan only.")]


def new_folder(option: str, path: Path) -> Path:
    """The folder that an option names, if there is nothing in it yet.

    Raises:
        ValueError: it is a file, or something is in it.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ValueError(
            f"{option} {path} is there already, and nothing is overwritten: give the name of a new folder, or an empty "
            "one"
        )
    return path
