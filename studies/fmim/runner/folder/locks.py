"""Locks of folders: a study's folder is used by one process at a time. A lock ends with the process that has it."""

from __future__ import annotations

import fcntl
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from fmim_core.records import now

LOCK, LOCKED_BY = ".lock", "fmim:"  # the file's name, and how its content begins
ASIDE = ".until-"  # and the time, in the name of a folder that `move_aside` gives
OWNER_ASKS_S = 0.1  # more than it takes `owner` to see whether a folder is in use


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Have the folder open, by which the system tells where it is if it is moved (`Place`)."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Let one process at a time into this block for the same folder; on a drive without locks, all at once."""
    with _opened(folder) as handle:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def owner(out: Path) -> str | None:
    """Return who runs a study in this folder now, `process 12 on host, since TIME`; None if nobody, or if unknown.

    Nothing is written.
    """
    path = out / LOCK
    if not path.is_file() or not os.access(path, os.R_OK):
        return None
    with path.open(encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read().removeprefix(LOCKED_BY).strip().rstrip(",") or "another process"
        except OSError:  # a network drive without locks
            return None
    return None


@contextmanager
def locked(out: Path) -> Iterator[str]:
    """Keep everybody else out of this folder for the block; yield a warning where that cannot be known, else nothing.

    Raises:
        ValueError: somebody runs in it; names the machine and the process.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (
        _opened(out),
        os.fdopen(os.open(out / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+", encoding="utf-8") as file,
    ):
        try:
            _lock(file)
        except BlockingIOError:
            raise ValueError(
                f"{owner(out) or 'another process'}, is running in {out}: wait for it, or give another --out"
            ) from None
        except OSError as error:  # a network drive without locks
            yield f"{out} cannot be locked ({error.strerror}): make sure that nobody else runs a study in it"
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


def is_foreign_lock(path: Path) -> bool:
    """Return whether a lock is somebody else's; one that a power cut has left empty is nobody's."""
    with path.open("rb") as file:
        start = file.read(len(LOCKED_BY)).strip(b"\0")
    return start not in (b"", LOCKED_BY.encode())


def move_aside(out: Path) -> Path | None:
    """Rename an existing folder to `OUT.until-TIME`, and return its new place, if there was one; nothing is deleted.

    Raises:
        ValueError: another process is running in it.
    """
    if not out.exists():
        return None
    aside = out.with_name(f"{out.name}{ASIDE}{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    with locked(out):
        out.rename(aside)
    return aside
