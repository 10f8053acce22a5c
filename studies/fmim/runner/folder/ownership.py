"""Whose a study's folder is: one study's alone, and used by one process at a time."""

from __future__ import annotations

import fcntl
import os
import platform
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

from fmim_core.records import (
    CalibrationFile,
    Damaged,
    Document,
    ProposalsFile,
    SelectionFile,
    StudyFile,
    now,
    read_records,
)
from fmim_core.suggestions import did_you_mean_path

LOCK, LOCKED_BY = ".lock", "fmim:"  # the file's name, and how its content begins
DOCUMENTS: dict[str, type[Document]] = {
    "study.json": StudyFile,
    "selection.json": SelectionFile,
    "proposals.json": ProposalsFile,
    "calibration.json": CalibrationFile,
}
WITHOUT = {
    "study.json": "the study goes on from its records, as a new one in MLflow",
    "selection.json": "winners are found again from the records, and their time of selection is lost",
}
"""What becomes of a study without a document that says what was decided; a damaged one is not made again unasked."""
FILES = (*DOCUMENTS, "progress.json", "surfaces.json", LOCK)
FOLDERS = ("code", "records", "checkpoints", "report", "samples")
SYSTEM_FILES = (".DS_Store", "Thumbs.db", "desktop.ini")  # which file managers leave in any folder
ASIDE = ".until-"  # and the time, in the name of a folder that was moved aside
OWNER_ASKS_S = 0.1  # more than it takes `owner` to see whether a folder is in use
NAMED = 3  # foreign files in a message


def check_folder(out: Path, study: str, fresh: bool = False, mirror: Collection[str] = ()) -> None:
    """Check that a study's folder is new, empty, or the study's own, before anything is written.

    Args:
        fresh: whether it is to be moved aside: then it may be another study's, but no less a study's alone.
        mirror: names of the MLflow mirror's files, if they lie in it.

    Raises:
        ValueError: it or what it would lie in is a file or cannot be written to; or it holds what no study writes,
            belongs to another study, or has a document that is damaged and cannot be made again.
    """
    place = nearest_place(out)
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        what = "cannot be written to" if place.is_dir() else "is a file"
        raise ValueError(f"--out {out}: {place} {what}: give another folder")
    if not out.exists():
        return
    if not fresh:
        _check_decisions(out)
    foreign = sorted(_foreign(out, mirror))
    if foreign:
        more = f" and {len(foreign) - NAMED} more" if len(foreign) > NAMED else ""
        raise ValueError(
            f"a study has its folder to itself: give another --out, since {out} holds what no study writes: "
            f"{', '.join(foreign[:NAMED])}{more}"
        )
    owners = () if fresh else (_read(out / name) for name in ("study.json", "calibration.json"))
    for document in owners:
        if isinstance(document, StudyFile | CalibrationFile) and document.study != study:
            raise ValueError(
                f"{out} belongs to the study {document.study!r}, not to {study!r}: give another --out, or --fresh to "
                "move it aside and start over"
            )


def nearest_place(path: Path) -> Path:
    """The path, or where it would lie: the nearest folder above it that there is, or what is there in its stead."""
    return next(place for place in (path, *path.absolute().parents) if os.path.lexists(place))


def _check_decisions(out: Path) -> None:
    """Raise a `ValueError` where a document that says what was decided is damaged, or of another version."""
    for name, without in WITHOUT.items():
        try:
            if (out / name).is_file():
                DOCUMENTS[name].read(out / name)
        except Damaged as damaged:
            to_do = f"put a copy of it back, or move it out of the folder: without it, {without}"
            raise ValueError(f"{damaged}. To go on, {to_do}") from damaged


def _read(path: Path) -> Document | None:
    """One of the study's documents; None where it is not there, or damaged."""
    try:
        return DOCUMENTS[path.name].read(path) if path.is_file() else None
    except Damaged:
        return None


def _foreign(out: Path, mirror: Collection[str]) -> Iterator[str]:
    """What no study writes: other names, folders for files and files for folders, and what is there without a study."""
    of_a_study = _is_of_a_study(out)
    for path in out.iterdir():
        name = path.name.partition(".damaged-")[0]
        if name in (*SYSTEM_FILES, *mirror) or _half_written(name):
            continue
        if name == LOCK:
            ours = path.is_file() and not _is_foreign_lock(path)
        elif name in FILES:
            ours = path.is_file() and of_a_study
        else:
            ours = name in FOLDERS and path.is_dir() and (of_a_study or not any(path.iterdir()))
        if not ours:
            yield path.name


def _is_of_a_study(out: Path) -> bool:
    """Whether a study has written into the folder: one of its documents, or of its records, can be read."""
    documents = (_read(out / name) for name in DOCUMENTS)
    records = read_records(out, lambda path, damaged: None)
    try:
        return any(one is not None for one in chain(documents, records))
    except ValueError:  # of another version
        return True


def _is_foreign_lock(path: Path) -> bool:
    """Whether a lock is somebody else's; one that a power cut has left empty is nobody's."""
    with path.open("rb") as file:
        start = file.read(len(LOCKED_BY)).strip(b"\0")
    return start not in (b"", LOCKED_BY.encode())


def _half_written(name: str) -> bool:
    """Whether a killed process has left it on the way to one of a study's files, or a network drive in its place."""
    return name.startswith(".nfs") or (name.startswith(".") and name.endswith(".part"))


def study_folder(out: Path) -> Path:
    """The folder, if it is a study's.

    Raises:
        ValueError: it has no study.json; names those that are like it, or lie in it.
    """
    if (out / "study.json").is_file():
        return out
    if not out.is_dir():
        hint = did_you_mean_path(out) or ". Give the folder of a study, e.g. runs/automargin_vs_grid"
        raise ValueError(f"no such folder: {out}{hint}")
    within = sorted(str(path.parent) for path in islice(out.glob("*/study.json"), NAMED))
    which = f"; there are {', '.join(within)}" if within else ", e.g. runs/automargin_vs_grid"
    raise ValueError(f"{out} is not a study's folder: it has no study.json. Give the folder of a study{which}")


def owner(out: Path) -> str | None:
    """Who runs a study in this folder now, `process 12 on host, since TIME`; None if nobody, or if it cannot be known.

    Nothing is written.
    """
    path = out / LOCK
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _named(file)
        except OSError:  # a network drive without locks
            return None
    return None


def _named(lock: TextIO) -> str:
    """Who holds a lock, by what it holds."""
    return lock.read().removeprefix(LOCKED_BY).strip().rstrip(",") or "another process"


@contextmanager
def locked(out: Path) -> Iterator[str]:
    """Nobody else runs in this folder for the block; yields a warning where that cannot be known, else nothing.

    Raises:
        ValueError: somebody does; names the machine and the process.
    """
    out.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(out / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+", encoding="utf-8") as file:
        try:
            _lock(file)
        except BlockingIOError:
            raise ValueError(f"{_named(file)}, is running in {out}: wait for it, or give another --out") from None
        except OSError as error:  # a network drive without locks
            yield f"{out} cannot be locked ({error.strerror}): see to it that nobody else runs a study in it"
            return
        file.truncate()
        file.write(f"{LOCKED_BY} process {os.getpid()} on {platform.node()}, since {now()},\n")
        file.flush()
        yield ""


def _lock(file: TextIO) -> None:
    """Lock for oneself alone. `owner` may hold the lock for an instant, so that once is not enough to be refused."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(OWNER_ASKS_S)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def move_aside(out: Path) -> Path | None:
    """Rename an existing folder to `OUT.until-TIME`; nothing is deleted. Returns its new place, if there was one.

    Raises:
        ValueError: another process is running in it.
    """
    if not out.exists():
        return None
    aside = out.with_name(f"{out.name}{ASIDE}{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    with locked(out):
        out.rename(aside)
    return aside


def is_moved_aside(folder: str) -> bool:
    """Whether a folder's name is one that `move_aside` gives."""
    return ASIDE in folder
