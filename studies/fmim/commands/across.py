"""`fmim compare` and `fmim overview`: several studies side by side, and all there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fmim.commands.arguments import new_folder
from fmim.printing.console import TextConsole
from fmim.runner.folder.ownership import study_folder


def compare(
    studies: Annotated[list[Path], typer.Argument(metavar="OUT OUT...", help="Folders of two or more studies.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="New folder for a page with its tables as files.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Say in what studies differ, show their arms side by side, and test the differences to the first study."""
    folders = [study_folder(study) for study in studies]
    folder = None if out is None else new_folder("--out", out)
    from fmim_reports.across.differences import differences
    from fmim_reports.across.page import comparison_as_json
    from fmim_reports.across.studies import read_studies

    read = read_studies(folders)
    found = differences(read)
    console = TextConsole()
    if as_json:
        print(json.dumps(comparison_as_json(read, found), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from fmim.terminal.comparison import show_comparison

        show_comparison(read, found, console)
    if folder is not None:
        from fmim_reports.across.page import write_comparison

        page = write_comparison(folder, read, found)
        TextConsole(stderr=as_json).say(f"page: {page}")


def overview(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where studies lie, e.g. runs.")] = Path("runs"),
) -> None:
    """Write FOLDER/index.html, all studies in a folder at a glance; runs and reports keep it current."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder: give the one in which studies lie, e.g. runs")
    from fmim.runner.folder.overview import write_overview

    TextConsole().say(f"overview: {write_overview(folder)}")
