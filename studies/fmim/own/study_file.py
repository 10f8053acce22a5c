"""A study in a file of one's own: run the file, and take what it declares as `STUDY` with its text."""

from __future__ import annotations

from pathlib import Path

from fmim.declare import Study
from fmim.own.code import run_file
from fmim.own.faults import located
from fmim_core.suggestions import did_you_mean_path

ENDING = ".py"


def is_study_file(study: str) -> bool:
    """Return whether this names a file rather than a study of the catalogue."""
    return study.endswith(ENDING)


def read_study_file(path: Path) -> Study:
    """Return the study that a file declares, with its text and that of the modules of its folder that it imports.

    Raises:
        ValueError: there is no such file, it cannot be run, or it declares no study; names file and line.
    """
    if not path.is_file():
        hint = did_you_mean_path(path) or f". `fmim new {path.stem}` writes one to begin with"
        raise ValueError(f"no such file: {path}{hint}")
    path = path.resolve()
    with located(path.parent):
        module, code = run_file(path)
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        given = "it does not" if study is None else f"its STUDY is {study!r}"[:80]
        raise ValueError(f"{path} must declare a study as STUDY = Study(name=…, …); {given}")
    return study.model_copy(update={"code": code})
