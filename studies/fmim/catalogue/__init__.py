"""All studies: each file in this folder declares one as `STUDY`, and is found because it is there.

Those of an installed package are found by its entry points of the group `fmim.studies`; your own file is given
by its path.
"""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from fmim.declare import Study
from fmim.own.study_file import is_study_file, read_study_file
from fmim_core.suggestions import did_you_mean


def names() -> list[str]:
    """Return the names of all studies, sorted."""
    return sorted({*_modules(), *_installed()})


def find(name: str) -> Study:
    """Return the study of that name, or that of a file.

    Raises:
        ValueError: there is none, and the message lists those there are; or a file that declares none.
    """
    if is_study_file(name):
        study = read_study_file(Path(name))
        if study.name in names():
            raise ValueError(
                f"{name}: the study's name {study.name!r} is taken by a study of `fmim list`: choose another name"
            )
        return study
    if name in _modules():  # looked for first: finding entry points reads every installed package
        of_module: Study = importlib.import_module(f"{__name__}.{name}").STUDY
        assert of_module.name == name, f"{name}.py declares the study {of_module.name!r}: call both alike"
        return of_module
    if entry := _installed().get(name):
        loaded = entry.load()
        if not isinstance(loaded, Study) or loaded.name != name:
            raise ValueError(f"the entry point {name} = {entry.value} must be a study of that name, but is {loaded!r}")
        return loaded
    known = names()
    raise ValueError(
        f"unknown study {name!r}; there are {', '.join(known)}, or a file of your own, such as my_study.py"
        f"{did_you_mean(name, known)}"
    )


def _modules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(__path__)]


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="fmim.studies")}
