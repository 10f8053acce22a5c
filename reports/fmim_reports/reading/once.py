"""Computing once what several tables, figures and sentences of a report ask for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar


class Remembers(Protocol):
    """What does not change, and keeps what was made of it."""

    @property
    def computed(self) -> dict[Callable[..., Any], Any]: ...


S = TypeVar("S", bound=Remembers)
T = TypeVar("T")


def once(make: Callable[[S], T]) -> Callable[[S], T]:
    """Makes a function compute once for each object that it is given; the object keeps the result."""

    @wraps(make)
    def made(of: S) -> T:
        if make not in of.computed:
            of.computed[make] = make(of)
        found: T = of.computed[make]
        return found

    return made
