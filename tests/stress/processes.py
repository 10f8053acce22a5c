"""Processes that a scenario starts, found by a mark in their environment, and what they leave behind."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from fmim_core.machine import cores
from tests.support.paths import ROOT
from tests.support.program import free_port, wait_for

MARK = "FMIM_STRESS"
WORKER = "Trainable.train"  # what Ray calls a process in the middle of an epoch


def marked(mark: str) -> dict[int, str]:
    """The processes that live with this mark, and their commands."""
    found: dict[int, str] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or is somebody else's
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return found


def first(mark: str, command: str) -> int | None:
    """The first of them whose command has this in it."""
    return next((process for process, whole in sorted(marked(mark).items()) if command in whole), None)


def kill(*processes: int) -> None:
    """SIGKILL, to those that still live."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def slowdown() -> float:
    """Return how many times longer things may take since others use the cores, too; 1 where nobody does."""
    return max(1.0, os.getloadavg()[0] / cores())


def seconds_until(condition: Callable[[], bool], at_most: float) -> float:
    """Wait for a condition, at most so many seconds; return how long that took."""
    begun = time.monotonic()
    while not condition() and time.monotonic() - begun < at_most:
        time.sleep(0.1)
    return time.monotonic() - begun


def start(
    arguments: tuple[str, ...], folder: Path, mark: str, variables: Mapping[str, str] = MappingProxyType({})
) -> subprocess.Popen[bytes]:
    """The program in a folder and a process group, with a temporary folder there and its words in `screen.txt`."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(ROOT / "studies" / "run.py"), *arguments]
    # Titles of Ray's processes would overwrite the environment in which their mark is.
    own = {MARK: mark, "TMPDIR": str(temporary), "COLUMNS": "200", "OMP_NUM_THREADS": "1", "SPT_NOENV": "1"}
    hears = partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # as where a terminal starts it
    with (folder / "screen.txt").open("ab") as screen:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | variables | own,
            preexec_fn=hears,
            process_group=0,
            stdout=screen,
            stderr=screen,
        )


@dataclass
class Nodes:
    """A Ray cluster of two nodes on this machine, as `ray start` makes it; the second one may die.

    variables: with the cluster's token, in the environment of all that belongs to it. resources: of each node, as
    `ray start` takes them.
    """

    folder: Path
    address: str
    variables: Mapping[str, str]
    resources: tuple[str, ...]

    @property
    def head(self) -> str:
        """The mark of the first node's processes."""
        return str(self.folder / "head")

    @property
    def second(self) -> str:
        """The mark of the second node's processes."""
        return str(self.folder / "second")

    def add(self, mark: str, *arguments: str) -> None:
        """A node; it is there when Ray says so."""
        log = Path(f"{mark}.txt")
        ray = str(Path(sys.executable).with_name("ray"))
        command = [ray, "start", "--block", *self.resources, "--disable-usage-stats", *arguments]
        with log.open("wb") as told:
            # What this program sets for clusters of its own, which have one node, stands in this environment.
            environment = os.environ | self.variables | {MARK: mark, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}
            node = subprocess.Popen(command, stdout=told, stderr=told, env=environment, start_new_session=True)
        wait_for(lambda: "Ray runtime started" in log.read_text(), node, log, seconds=120)

    def complete(self) -> None:
        """Add the second node, where it is not there."""
        if not marked(self.second):
            self.add(self.second, "--address", self.address)

    def lose_second(self) -> None:
        """All of the second node dies at once, as with its machine."""
        while living := marked(self.second):
            kill(*living)
            time.sleep(0.1)


@contextmanager
def nodes(folder: Path, resources: tuple[str, ...] = ("--num-cpus", "1")) -> Iterator[Nodes]:
    """The head of such a cluster; all that lives of it ends with the block."""
    port = free_port()
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    cluster = Nodes(folder, f"127.0.0.1:{port}", token, resources)
    try:
        cluster.add(cluster.head, "--head", "--port", str(port), "--include-dashboard", "false")
        yield cluster
    finally:
        for mark in (cluster.second, cluster.head):
            kill(*marked(mark))
