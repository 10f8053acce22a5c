"""How the program ends when it is asked to."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ends_as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM, and SIGHUP of a terminal that is closed, end the block as Ctrl-C does.

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


@contextmanager
def announced(tell: Callable[[], None]) -> Iterator[None]:
    """Where Ctrl-C or SIGTERM ends the block, `tell` is called at once, before anything is waited for."""

    def handler(number: int, frame: FrameType | None) -> None:
        signal.signal(number, before[number])  # the next one finds what is there without us
        tell()
        signal.raise_signal(number)

    main = threading.current_thread() is threading.main_thread()  # another one can set none
    found = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM) if main}
    before = {number: one for number, one in found.items() if callable(one)}  # not where it is ignored
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, one in before.items():
            signal.signal(number, one)


def _leave(terminals: Iterable[int]) -> None:
    """Nothing can be written to a terminal that has gone: what would be told goes nowhere, instead of failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for terminal in terminals:
        os.dup2(nowhere, terminal)
    os.close(nowhere)
