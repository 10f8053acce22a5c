"""The surroundings of the program: a home directory that can be used, and signals that ask it to end."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from _thread import start_new_thread  # unlike those of threading, they take no lock: it may be taken
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from fmim.runner.backends.ray_cluster import RAY_THREAD


@contextmanager
def usable_home(warn: Callable[[str], None]) -> Iterator[None]:
    """Have a temporary HOME for the block where it is no folder, or cannot be written to.

    Ray Tune, MLflow and torch fail without any, and matplotlib wants to write there. A folder that can only be read
    stays HOME for all others, as weights and tokens may lie there.
    """
    home = os.path.expanduser("~")
    if os.path.isdir(home) and os.access(home, os.W_OK | os.X_OK):
        yield
        return
    name = "MPLCONFIGDIR" if os.path.isdir(home) else "HOME"
    before = os.environ.get(name)
    if name != "HOME" and before:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="fmim-home-", ignore_cleanup_errors=True) as folder:
        warn(f"HOME ({home}) cannot be written to: caches that programs keep there, such as fonts, are lost")
        os.environ[name] = folder
        try:
            yield
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before


@contextmanager
def ends_without_cluster() -> Iterator[None]:
    """Let the program end at once where Ray still starts or ends, or waits for a cluster that has gone.

    What Ray does at exit would wait for it, too, up to a minute.
    """
    try:
        yield
    except SystemExit as end:
        if any(thread.name == RAY_THREAD for thread in threading.enumerate()):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(end.code or 0))
        raise


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IMPORT_S, AGAIN_S = 10.0, 0.05


@contextmanager
def ends_as_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM, and SIGHUP of a terminal that is closed, end the block by a `KeyboardInterrupt`.

    Then the tracker says KILLED, the report is built, and the same command goes on with the study. An import ends
    before, within `IMPORT_S`: torch, written in C++, would abort the program.
    """
    terminals = [stream.fileno() for stream in (sys.stdout, sys.stderr) if stream.isatty()]
    latest: float | None = None

    def again(number: int) -> None:
        time.sleep(AGAIN_S)
        os.kill(os.getpid(), number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal latest
        if number == signal.SIGHUP:  # writing to a terminal that has gone would fail
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for terminal in terminals:
                os.dup2(nowhere, terminal)
            os.close(nowhere)
        latest = latest or time.monotonic() + IMPORT_S
        if _imports(frame) and time.monotonic() < latest:
            start_new_thread(again, (number,))
            return
        latest = None
        raise KeyboardInterrupt

    heard = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]  # nohup has SIGHUP ignored
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _imports(frame: FrameType | None) -> bool:
    """Look whether an import is under way in a frame or those that called it."""
    while frame is not None and "<frozen importlib" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None
