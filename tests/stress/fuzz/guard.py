"""One input at a time: whether it is accepted or refused in our own words, in time, and without a word of a library."""

from __future__ import annotations

import contextlib
import io
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from pydantic import ValidationError

from tests.support.paths import ROOT

COMPUTING_S, WAITING_S = 10.0, 60.0
"""Bounds of one input. Others may use the machine at the same time, so that the first is of the process's own time."""


@dataclass(frozen=True)
class Input:
    """An input, in words that let it be made again, and what is done with it; raises `Wrong` where a check fails.

    writes: the folder that may be written to.
    """

    what: str
    call: Callable[[], object]
    writes: Path | None = None


@dataclass(frozen=True)
class Told:
    """What came of an input: whether it was refused, what is wrong with that if anything is, and the time it took."""

    refused: bool
    problem: str
    seconds: float


class Wrong(Exception):
    """Accepted, and not what was given; or refused, and not as it should be."""


class Hang(BaseException):
    """The bound of time is over."""


def tried(given: Input, folder: Path) -> Told:
    """Run an input, whose files are in `folder`."""
    before, said, began = files(folder, given.writes), io.StringIO(), time.perf_counter()
    refused, problem = False, ""
    with bounded(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            given.call()
        except Hang:
            problem = f"no answer within {COMPUTING_S:g} s of computing, or {WAITING_S:g} s in all"
        except SystemExit as end:
            refused, problem = end.code == 2, _exit_problem(end)
        except (ValueError, OSError) as error:
            refused, problem = True, "" if is_ours(error) else _words(error)
        except Exception as error:
            problem = _words(error)
    seconds, text = time.perf_counter() - began, said.getvalue()
    if not problem and ("Warning" in text or "Traceback" in text):
        problem = f"said {text[-500:]!r}"
    if not problem and any(sign in text for sign in "\x1b\r\u202e"):
        problem = f"a control character on the terminal: {text[:500]!r}"
    if not problem and (strays := files(folder, given.writes) ^ before):
        problem = f"written or gone: {sorted(map(str, strays))[:3]}"
    return Told(refused, problem, seconds)


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Raises `Hang` when the block takes too long."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = {number: signal.signal(number, ring) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_REAL, WAITING_S)
    signal.setitimer(signal.ITIMER_PROF, COMPUTING_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def files(folder: Path, but: Path | None) -> set[tuple[Path, int]]:
    """The files in a folder with their sizes, but for those in one of its folders."""
    found = (path for path in folder.rglob("*") if but is None or not path.is_relative_to(but))
    return {(path, path.lstat().st_size if path.is_file() else 0) for path in found}


def is_ours(error: BaseException) -> bool:
    """Whether an error is raised by this project, or by a library for it with what was given."""
    if isinstance(error, ValidationError | OSError):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).is_relative_to(ROOT)


def _exit_problem(end: SystemExit) -> str:
    """Nothing for exit codes 0 and 2, where the latter is not of an error in a library's words."""
    if end.code not in (0, None, 2):
        return f"exit code {end.code}"
    cause = end.__context__.__cause__ if end.__context__ else None
    return "" if cause is None or is_ours(cause) else f"exit 2 of a library's {_words(cause)}"


def _words(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in where if Path(frame.filename).is_relative_to(ROOT / "tests") is False]
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in ours[-4:]]
    return f"{type(error).__name__}: {str(error)[:200]} ({' > '.join(places)})"


def fmim(*arguments: str) -> None:
    """The command line in this process; ends by `SystemExit`."""
    from fmim.cli import main

    before, sys.argv = sys.argv, ["fmim", *arguments]
    try:
        main()
    finally:
        sys.argv = before
