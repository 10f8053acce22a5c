"""The entries of the table: what `--quick` makes smaller in each, and about how long each takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A module beside this one with `measure(device)`, which returns or yields its measurements; none of some devices.

    seconds: about, on the CPU of a machine of 2 cores with nothing else to do, of the whole entry and of the quick one;
    the program says at the end of each what it took. quick: the arguments of `measure` that make it quick.
    """

    seconds: float
    quick_seconds: float
    quick: Mapping[str, Any]

    def expected(self, quick: bool) -> float:
        """About how many seconds it takes."""
        return self.quick_seconds if quick else self.seconds

    def arguments(self, quick: bool) -> Mapping[str, Any]:
        """Of its `measure`."""
        return self.quick if quick else {}


ENTRIES: dict[str, Entry] = {  # in the order of the table
    "imports": Entry(25, 10, {"repeats": 1}),
    "bank": Entry(80, 15, {"count": 100, "repeats": 1}),
    "loss": Entry(5, 1, {"repeats": 25}),
    "step": Entry(40, 10, {"repeats": 1}),
    "retrieval": Entry(180, 30, {"repeats": 2, "large_size": 20_000, "one_query_of": 10}),
    "precision": Entry(25, 15, {"seeds": 2}),
    "runner": Entry(90, 30, {"trials": 20}),
    "scale": Entry(60, 20, {"trials": 2000}),
    "quick": Entry(200, 60, {"preset": "smoke"}),
}


def in_words(seconds: float) -> str:
    """`about 40 s` or `about 12 min`."""
    return f"about {max(1, round(seconds / 5)) * 5} s" if seconds < 90 else f"about {max(1, round(seconds / 60))} min"
