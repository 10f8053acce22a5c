"""A scratch folder for a while, and an end for all processes that are started meanwhile, however this one ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fmim.runner.ending import watchdog

PREFIX, LOCK = "fmim-scratch-", ".lock"
"""The folder's name begins with the one, and it holds the other: else it is not ours."""


@dataclass(frozen=True)
class Guard:
    """A scratch folder, and the process that removes it when this one has ended."""

    scratch: Path
    _dog: subprocess.Popen[str]

    def if_killed_say(self, line: str) -> None:
        """What is told on stderr from now on where this process ends within the block; nothing if empty."""
        assert self._dog.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it was killed: then the next start clears
            self._dog.stdin.write(f"{line}\n")
            self._dog.stdin.flush()


@contextmanager
def guarded() -> Iterator[Guard]:
    """A scratch folder for the block, at whose end all processes end that the block started.

    A process beside this one sees to that, also after SIGKILL, or where a library ends this process from inside. The
    folder is locked as long as either of the two lives; what both have left behind, the next `guarded` clears.

    Raises:
        ValueError: no process can be started.
    """
    _clear_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    with (folder / LOCK).open("w") as lock:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        guard = Guard(folder, _watchdog(folder, lock.fileno()))
        os.environ[watchdog.MARK] = str(folder)
        try:
            yield guard
        finally:
            os.environ.pop(watchdog.MARK)
            guard.if_killed_say("")
            guard._dog.communicate()


def _watchdog(folder: Path, lock: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-IS", watchdog.__file__, str(folder)]
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True, pass_fds=[lock])
    except OSError as error:
        limit = "see its limit on processes (ulimit -u)"
        raise ValueError(f"this machine starts no more processes ({error.strerror}): {limit}") from error


def _clear_abandoned() -> None:
    """Clear what one's own killed programs have left behind, where their watchdogs were killed with them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), (folder / LOCK).open("r+") as lock:  # of others, or gone meanwhile
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where it is in use
            watchdog.clear(folder)
