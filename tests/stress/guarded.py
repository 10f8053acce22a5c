"""One odd input at a time: accepted or refused in our own words, in time, and without a word of a library."""

from __future__ import annotations

import contextlib
import io
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from pydantic import ValidationError

from tests.support.paths import ROOT

COMPUTING_S, WAITING_S = 10.0, 60.0
"""Bounds of one input. Others may use the machine at the same time, so that the first is of the process's own time."""


class Wrong(Exception):
    """Accepted, and not as what was given; or refused, and not as it should be."""


class Hang(BaseException):
    """The bound of time is over."""


def refuses(call: Callable[[], object], folder: Path, writes: Path | None = None) -> bool:
    """Return whether a call refuses its input; it may write to a folder below `folder`, and nowhere else in that.

    Raises:
        Wrong: it is neither accepted nor refused in our own words, it says or writes what it should not, or it hangs.
    """
    before, said, refused = files(folder, writes), io.StringIO(), False
    with bounded(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            call()
        except Hang:
            raise Wrong(f"no answer within {COMPUTING_S:g} s of computing, or {WAITING_S:g} s in all") from None
        except SystemExit as end:
            check_exit(end)
            refused = end.code == 2
        except (ValueError, OSError) as error:
            if not is_ours(error):
                raise Wrong("a library's words") from error
            refused = True
    text = said.getvalue()
    if "Warning" in text or "Traceback" in text:
        raise Wrong(f"said {text[-500:]!r}")
    if any(sign in text for sign in "\x1b\r\u202e"):
        raise Wrong(f"a control character on the terminal: {text[:500]!r}")
    if strays := files(folder, writes) ^ before:
        raise Wrong(f"written or gone: {sorted(map(str, strays))[:3]}")
    return refused


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Raise `Hang` when the block takes too long."""

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
    """Return the files in a folder with their sizes, but for those in one of its folders."""
    found = (path for path in folder.rglob("*") if but is None or not path.is_relative_to(but))
    return {(path, path.lstat().st_size if path.is_file() else 0) for path in found}


def is_ours(error: BaseException) -> bool:
    """Return whether an error is raised by this project, or by a library for it with what was given."""
    if isinstance(error, ValidationError | OSError):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).is_relative_to(ROOT)


def check_exit(end: SystemExit) -> None:
    """Raise `Wrong` unless the program ended with 0, or with 2 and not in a library's words."""
    if end.code not in (0, None, 2):
        raise Wrong(f"exit code {end.code}") from end
    cause = end.__context__.__cause__ if end.__context__ else None
    if cause is not None and not is_ours(cause):
        raise Wrong("exit 2 of a library's error") from cause
