"""Arguments that several commands have, and the names that a shell completes for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fmim.printing import warn
from fmim.runner.tracking.address import TrackingAddress
from fmim_core.records import check_place


def complete_study(incomplete: str) -> list[str]:
    """Return the studies of the catalogue that begin so."""
    from fmim import catalogue

    return [name for name in catalogue.names() if name.startswith(incomplete)]


def complete_preset(incomplete: str) -> list[str]:
    """Return the presets that most studies have and that begin so."""
    from fmim.declare.presets import PRESETS

    return [preset.name for preset in PRESETS if preset.name.startswith(incomplete)]


def complete_data(incomplete: str) -> list[str]:
    """Return the named data sets that begin so."""
    from fmim_core.data.sets.base import DATA_SETS
    from fmim_core.data.sets.phantom_config import PHANTOM

    return [name for name in (PHANTOM, *DATA_SETS.kinds()) if name.startswith(incomplete)]


StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="A study of `fmim list`, or your own Python file.", autocompletion=complete_study
    ),
]
StudyFolder = Annotated[Path, typer.Argument(metavar="OUT", help="A study's folder, e.g. runs/automargin_vs_grid.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]


def warn_of_password(address: str | None) -> str | None:
    """Warn where the address that is given may hold a password: a command line is for all to read."""
    if address and not address.startswith("@"):
        given = TrackingAddress.of(address)
        if given.whole != given.shown:
            warn(
                "other users of this machine can read the password in --tracking-uri: put the address into a file and "
                "give --tracking-uri @FILE, or set FMIM_TRACKING_URI"
            )
    return address


TrackingUri = Annotated[
    str | None,
    typer.Option(
        metavar="URI|@FILE",
        callback=warn_of_password,
        help="MLflow's database or server; default: where the study was mirrored to.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check everything, print the plan, and stop.")]


def new_folder(option: str, path: Path) -> Path:
    """Return the folder that an option names, if there is nothing in it yet.

    Raises:
        ValueError: it is a file, something is in it, or this user may not write there.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise ValueError(f"{option} {path} exists and is not overwritten: give a new or an empty folder")
    check_place(path)
    return path
