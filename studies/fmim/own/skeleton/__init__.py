"""The files that `fmim new NAME` writes: those of this folder with the study's name in them."""

from __future__ import annotations

import os
import re
from importlib import resources
from pathlib import Path

from fmim import catalogue

EXAMPLE = "my_study"


def write_skeleton(study: str, folder: Path) -> list[Path]:
    """Write NAME.py and test_NAME.py into a folder; return their paths.

    Raises:
        ValueError: the name is not allowed or taken, or one of the files is there already.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", study):
        raise ValueError(
            f"{study!r} cannot be the name of a study: give small letters, digits and _, first a letter, e.g. {EXAMPLE}"
        )
    if study in catalogue.names():
        raise ValueError(f"{study!r} is one of `fmim list`: choose another name, e.g. {EXAMPLE}")
    files = {folder / name.replace(EXAMPLE, study): name for name in (f"{EXAMPLE}.py", f"test_{EXAMPLE}.py")}
    there = [str(path) for path in files if os.path.lexists(path)]
    if there:
        raise ValueError(f"{' and '.join(there)} would be overwritten: choose another name, or move it away first")
    for path, name in files.items():
        text = resources.files(__name__).joinpath(name).read_text(encoding="utf-8")
        with path.open("x", encoding="utf-8") as file:
            file.write(text.replace(EXAMPLE, study))
    return list(files)
