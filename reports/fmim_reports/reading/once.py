"""Computes once what several tables, figures and sentences of a report ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from fmim_reports.reading.results import Results

T = TypeVar("T")


def once(make: Callable[[Results], T]) -> Callable[[Results], T]:
    """Make a function compute once for the results that it is given; they keep what it returned."""

    @wraps(make)
    def made(of: Results) -> T:
        if make not in of.computed:
            of.computed[make] = make(of)
        found: T = of.computed[make]
        return found

    return made
