"""Guesses at what a misspelt name was meant to be, as the end of a message."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

COMPARED = 10_000  # names of a folder that a misspelt one is compared with: more takes more than a second


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return the end of a message on a name that is not known: the one most like it, if there is one."""
    near = get_close_matches(given, list(known), n=1)
    return f". Did you mean {near[0]!r}?" if near else ""


def did_you_mean_path(path: Path) -> str:
    """Return the end of a message on a path that is not there: the one most like it, of what each folder has."""
    found = Path(path.anchor)
    for part in path.parts[len(found.parts) :]:
        if not (found / part).exists():
            near = get_close_matches(part, _names(found), n=1)
            if not near:
                return ""
            part = near[0]
        found /= part
    return f". Did you mean {str(found)!r}?" if found != path else ""


def _names(folder: Path) -> list[str]:
    """Return the first names in a folder; none where it cannot be read."""
    try:
        return [entry.name for entry in islice(os.scandir(folder), COMPARED)]
    except OSError:
        return []
