"""Whose a study's folder is: one study's alone, and used by one process at a time."""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fmim_core.records import CalibrationFile, StudyFile, calibration_path, now, study_path

LOCK, LOCKED_BY = ".lock", "fmim:"  # the file's name, and how its content begins
FILES = ("study.json", "selection.json", "proposals.json", "surfaces.json", "calibration.json", LOCK)
FOLDERS = ("records", "checkpoints", "report", "samples")
SYSTEM_FILES = (".DS_Store", "Thumbs.db", "desktop.ini")  # which file managers leave in any folder
NAMED = 3  # foreign files in a message


def check_folder(out: Path, study: str, fresh: bool = False, mirror: Collection[str] = ()) -> None:
    """Check that a study's folder is new, empty, or the study's own, before anything is written.

    Args:
        fresh: whether it is to be moved aside: then it may be another study's, but no less a study's alone.
        mirror: names of the MLflow mirror's files, if they lie in it.

    Raises:
        ValueError: it or what it would lie in is a file or cannot be written to; or it holds what no study writes, or
            belongs to another study.
    """
    place = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        what = "cannot be written to" if place.is_dir() else "is a file"
        raise ValueError(f"--out {out}: {place} {what}: give another folder")
    if not out.exists():
        return
    known = {*FILES, *FOLDERS, *SYSTEM_FILES, *mirror}
    foreign = sorted(path.name for path in out.iterdir() if path.name not in known and not _half_written(path.name))
    foreign += [LOCK] if _is_foreign_lock(out / LOCK) else []
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


def _is_foreign_lock(path: Path) -> bool:
    """Whether a file with the name of ours has somebody else's content."""
    if not path.is_file():
        return path.exists()
    with path.open("rb") as file:
        start = file.read(len(LOCKED_BY))
    return start not in (b"", LOCKED_BY.encode())


def _half_written(name: str) -> bool:
    """Whether a killed process has left it on the way to one of a study's files, or a network drive in its place."""
    return name.startswith(".nfs") or (name.startswith(".") and name.endswith(".part"))


@contextmanager
def locked(out: Path) -> Iterator[str]:
    """Nobody else runs in this folder for the block; yields a warning where that cannot be known, else nothing.

    Raises:
        ValueError: somebody does; names the machine and the process.
    """
    out.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(out / LOCK, os.O_RDWR | os.O_CREAT, 0o666), "r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = file.read().removeprefix(LOCKED_BY).strip() or "another process"
            raise ValueError(f"{owner} is running in {out}: wait for it, or give another --out") from None
        except OSError as error:  # a network drive without locks
            yield f"{out} cannot be locked ({error.strerror}): see to it that nobody else runs a study in it"
            return
        file.truncate()
        file.write(f"{LOCKED_BY} process {os.getpid()} on {platform.node()}, since {now()},\n")
        file.flush()
        yield ""


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
