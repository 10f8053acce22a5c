"""The end of the program when it is asked to."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ends_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, and SIGHUP of a terminal that is closed, end the block as Ctrl-C does.

    Then the tracker says KILLED, the report is built, and the same command goes on with the study.
    """

    terminals = [stream.fileno() for stream in (sys.stdout, sys.stderr) if stream.isatty()]

    def interrupt(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _leave(terminals)
        raise KeyboardInterrupt

    heard = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]  # nohup has SIGHUP ignored
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(terminals: Iterable[int]) -> None:
    """Send what would be told nowhere: writing to a terminal that has gone would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for terminal in terminals:
        os.dup2(nowhere, terminal)
    os.close(nowhere)
