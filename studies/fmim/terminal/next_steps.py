"""The commands that follow a run."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from rich.console import Console

from fmim_core.records import in_terminal


def show_next(out: Path, console: Console) -> None:
    """What can be done with a study that has run."""
    folder = shlex.quote(os.path.relpath(out))
    steps = {
        f"fmim status {folder}": "how far each arm is",
        f"fmim ui {folder}": "every trial in MLflow",
        f"fmim match {folder} QUERY --arm ARM --gallery TABLE": "who is on these images",
    }
    for command, what in steps.items():
        console.print(f"{what}: {in_terminal(command)}", highlight=False, soft_wrap=True)
