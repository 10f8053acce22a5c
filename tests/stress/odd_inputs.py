"""Odd inputs: what they are drawn from, and that one is accepted or refused in our own words, in time."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import signal
import traceback
from collections.abc import Callable, Iterator, MutableMapping, MutableSequence
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.support.paths import ROOT

TEXTS = (
    *("", " ", "5", "0.5", "1e3", "1e999", "1_000", "٣", "0x10", "nan", "inf", "true", "no", "null", "None", "auto"),
    *("é膝", "\u202egnp", "\x1b[31mred", "a\rb", "a\0b", "\ud800", "a\nb", "_a", "[red]x[/]", "[/]", "[/red]"),
    *("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "$x$", "$\\frac$", "\\input{/etc/passwd}"),
    *("=1+1", "-2", "+x", "@x", "../../x", "/etc/passwd", "a/b", "%s{0}", "{}", "x" * 5000, "a.b", "A", "triplet"),
)
NUMBERS = (0, 1, -1, 2, 7, 10**4, 2**31, 2**63, 10**30, -(10**18), 0.5, -0.0, 1e-320, 1e308, 5.0, 1e3)
OTHERS: tuple[Any, ...] = (
    *(None, True, False, math.nan, math.inf, -math.inf),
    *([], {}, [1], [[[]]], ["a", 1], {"kind": "triplet"}),
)
texts, odd = st.sampled_from(TEXTS), st.sampled_from((*TEXTS, *NUMBERS, *OTHERS))

Draw = Callable[..., Any]
Container = MutableMapping[Any, Any] | MutableSequence[Any]


def places(document: Any) -> Iterator[tuple[Container, Any]]:
    """Yield every place in a document of objects and lists, by its holder and key."""
    for key in list(document) if isinstance(document, MutableMapping) else range(len(document)):
        yield document, key
        if isinstance(document[key], MutableMapping | MutableSequence):
            yield from places(document[key])


@st.composite
def harmed(draw: Draw, document: Any) -> Any:
    """Draw a copy with one or two places harmed: another value or type, lost, doubled, misspelt, one too many."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 2))):
        if not (found := list(places(document))):
            return draw(odd)
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        way = draw(st.sampled_from(("other", "text", "lost", "misspelt", "one more")))
        if way == "lost":
            del holder[key]
        elif way == "text":
            holder[key] = str(holder[key])
        elif way == "misspelt" and isinstance(holder, MutableMapping):
            holder[f"{key}_"] = holder.pop(key)
        elif way == "one more" and isinstance(holder, MutableSequence):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif way == "one more":
            holder[draw(texts)] = draw(odd)
        else:
            holder[key] = draw(odd)
    return document


def says_what(given: Any, made: Any) -> bool:
    """Return whether what was made of a document says what it says, each value of the type that was given.

    A whole number may have become a float; what is made may have more fields, which have defaults.
    """
    if isinstance(given, MutableMapping) and isinstance(made, BaseModel | MutableMapping):
        fields = {str(key): value for key, value in dict(made).items()}
        fields.setdefault("schema", fields.get("schema_version"))
        return all(str(key) in fields and says_what(part, fields[str(key)]) for key, part in given.items())
    if isinstance(given, list | tuple) and isinstance(made, list | tuple):
        return len(given) == len(made) and all(map(says_what, given, made))
    if isinstance(made, bool) or isinstance(given, bool):
        return isinstance(made, bool) and given in (made, str(made).lower())
    if isinstance(made, float):
        return isinstance(given, int | float) and (made == float(given) or made != made)
    return type(given) is type(made) and bool(given == made)


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
