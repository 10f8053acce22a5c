"""Whose a study's folder is: one study's alone, and used by one process at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fmim_core.records import CalibrationFile, StudyFile, calibration_path, study_path

FILES = ("study.json", "selection.json", "proposals.json", "surfaces.json", "calibration.json", ".lock")
FOLDERS = ("records", "checkpoints", "report", "samples")
SYSTEM_FILES = (".DS_Store", "Thumbs.db", "desktop.ini")  # which file managers leave in any folder
NAMED = 3  # foreign files in a message


def check_folder(out: Path, study: str, fresh: bool = False, mirror: Collection[str] = ()) -> None:
    """Check that a study's folder is new, empty, or the study's own, before anything is written.

    Args:
        fresh: whether it is to be moved aside: then it may be another study's, but no less a study's alone.
        mirror: names of the MLflow mirror's files, if they lie in it.

    Raises:
        ValueError: it is a file, holds what no study writes, or belongs to another study.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise ValueError(f"--out {out} is a file: give a folder")
    known = {*FILES, *FOLDERS, *SYSTEM_FILES, *mirror}
    foreign = sorted(path.name for path in out.iterdir() if path.name not in known and not _half_written(path.name))
    if foreign:
        more = f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
        raise ValueError(
            f"a study has its folder to itself: give another --out, since {out} holds what no study writes: "
            f"{', '.join(foreign[:NAMED])}{more}"
        )
    documents = () if fresh else ((study_path(out), StudyFile), (calibration_path(out), CalibrationFile))
    for path, document in documents:
        owner = document.read(path).study if path.exists() else study
        if owner != study:
            raise ValueError(
                f"{out} belongs to the study {owner!r}, not to {study!r}: give another --out, or --fresh to move it "
                "aside and start over"
            )


def _half_written(name: str) -> bool:
    """Whether a killed process has left it on the way to one of a study's files, or a network drive in its place."""
    return name.startswith(".nfs") or (name.startswith(".") and name.endswith(".part"))


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Nobody else runs in this folder for the block.

    Raises:
        ValueError: somebody does.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another process is running in {out}: wait for it, or give another --out") from None
        yield


def move_aside(out: Path) -> Path | None:
    """Rename an existing folder to `OUT.until-TIME`; nothing is deleted. Returns its new place, if there was one.

    Raises:
        ValueError: another process is running in it.
    """
    if not out.exists():
        return None
    aside = out.with_name(f"{out.name}.until-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    with locked(out):
        out.rename(aside)
    return aside
