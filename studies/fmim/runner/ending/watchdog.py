"""A small program beside ours that outlives it: whatever ours started ends with it, even after SIGKILL.

`guarded` starts it, by its path and with the standard library alone: `python watchdog.py FOLDER`. Its standard input is
a pipe from our program, which ends with that program. What our program has started is known by `MARK` among its
environment variables, which every child inherits.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "FMIM_SCRATCH"
PATIENCE_S = 10.0  # for killed processes to be gone; one that waits for a disk may take longer


def clear(folder: Path) -> None:
    """Kill every process that has the folder as its mark, and remove the folder."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := list(processes(folder))) and time.monotonic() < deadline:
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.1)  # until they are gone, and with them those that they had just started
    shutil.rmtree(folder, ignore_errors=True)


def processes(folder: Path) -> Iterator[int]:
    """The ids of one's own processes that have the folder as their mark; none on systems without /proc."""
    mark = f"{MARK}={folder}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is somebody else's
            if int(place.name) != os.getpid() and mark in (place / "environ").read_bytes().split(b"\0"):
                yield int(place.name)


def main() -> None:
    """Wait until the program has ended, clear up after it, and print the last line that it sent, unless it is empty."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what ends them all at once is to end this one last
    lines = sys.stdin.read().splitlines()
    clear(Path(sys.argv[1]))
    if lines and lines[-1]:
        with contextlib.suppress(OSError):  # the terminal may be gone, too
            print(lines[-1], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
