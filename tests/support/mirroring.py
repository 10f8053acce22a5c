"""What a process does that only mirrors: a module of its own, since such a process imports what is imported here."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.runs import Identity
from fmim.runner.tracking.tracker import Tracker

NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.sendto")


def mirror_nothing(root: str, number: int) -> None:
    """Mirror a study without trials to `root`/new.db; nobody else is asked or told anything."""
    asked: list[str] = []
    sys.addaudithook(lambda event, given: asked.append(f"{event}{given}") if event in NETWORK else None)
    for name in ("PYTEST_CURRENT_TEST", "CI"):  # with which MLflow does not report who uses it
        os.environ.pop(name, None)
    identity = Identity("race", f"study{number}", "mini")
    assert Tracker(TrackingAddress.of(f"sqlite:///{root}/new.db"), identity, list).close("FINISHED", Path(root))
    assert asked == []
