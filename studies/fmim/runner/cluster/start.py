"""What can begin before a plan is made and its data are read: Ray needs seconds, and other processes than this one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from fmim.runner.cluster.address import knock
from fmim.runner.cluster.head import Head, start_head
from fmim.runner.cluster.joining import Joining, joining
from fmim.runner.ending.guard import Guard, guarded


@dataclass(frozen=True)
class RayStart:
    """A scratch folder for Ray, with its guard; a head that starts a cluster of our own, or else what joins another."""

    guard: Guard
    head: Head | None
    joining: Joining | None = None


@contextmanager
def starting(kind: Literal["ray", "inline"], address: str | None) -> Iterator[RayStart | None]:
    """Begin to start where trials will run, for the block; None where they run in this process, which needs nothing.

    Raises:
        ValueError: nobody answers at that address, or this machine has not what Ray needs.
    """
    if kind == "inline":
        yield None
        return
    if not address:
        with guarded() as guard:
            yield RayStart(guard, start_head(guard.scratch))
        return
    knock(address)
    with guarded() as guard, joining(address) as begun:
        yield RayStart(guard, None, begun)
