"""The Ray cluster that trials run on: how Ray is set up, and how many trials it has room for."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# Read when Ray is imported or starts: no log files of Tune's own (the records are ours), no experiment snapshots
# (the records are what a study resumes from), and Ctrl-C reaches us as everywhere else.
TUNE_ENVIRONMENT = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_THRESHOLD_S": "10",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "1",
}
os.environ.update({name: os.environ.get(name, value) for name, value in TUNE_ENVIRONMENT.items()})

import ray  # noqa: E402

LONGEST_TEMPORARY = 107 - len("/ray/session_2000-01-01_00-00-00_000000_0000000/sockets/plasma_store")
"""Characters: the path of a Unix socket has 107."""


@dataclass(frozen=True)
class Resources:
    """What each trial asks for. gpus: a fraction shares a GPU between trials; memory is not limited by it."""

    cpus: float = 1.0
    gpus: float | None = None


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """A Ray cluster for the block: the one at `address`, or one on this machine.

    Raises:
        ValueError: there is none at that address.
    """
    # "local": without an address Ray would join any cluster that is noted on this machine, and wait for a dead one.
    options: dict[str, Any] = {"address": address or "local"}
    if not address:
        options |= {"include_dashboard": False, "_temp_dir": _temporary_folder()}
    try:
        _knock(address)
        ray.init(logging_level=logging.ERROR, log_to_driver=False, **options)
    except (OSError, RuntimeError) as error:
        what = (
            f"no Ray cluster can be reached at --address {address}" if address else "Ray cannot start on this machine"
        )
        raise ValueError(f"{what}: {error}; --backend inline needs no Ray") from error
    try:
        yield
    finally:
        ray.shutdown()


def _temporary_folder() -> str:
    """Where a cluster of our own has its sockets: the temporary folder, or a shorter one where that is too long.

    Raises:
        ValueError: there is none that is short enough; names the limit.
    """
    given = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    for place in (given, "/tmp", "/var/tmp"):
        if len(place) <= LONGEST_TEMPORARY and os.access(place, os.W_OK):
            return os.path.join(place, "ray")
    raise ValueError(
        f"Ray's sockets lie in the temporary folder, whose path may have {LONGEST_TEMPORARY} characters; {given} has "
        f"{len(given)}: set TMPDIR to a shorter one, or --backend inline, which needs no Ray"
    )


def _knock(address: str | None) -> None:
    """Raise an `OSError` at once where nobody listens at HOST:PORT; Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def allot(asked: Resources) -> tuple[Resources, int]:
    """The resources of each trial in the running cluster, and how many trials run at once.

    Where nothing is said of GPUs, each trial gets one if there are any, else none.

    Raises:
        ValueError: no node can run even one trial; names what was asked for and what there is.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    available = {kind: sum(node.get(kind, 0.0) for node in nodes) for kind in ("CPU", "GPU")}
    gpus = asked.gpus if asked.gpus is not None else float(available["GPU"] > 0)
    slots = sum(_slots(node, asked.cpus, gpus) for node in nodes)
    if slots == 0:
        raise ValueError(
            f"each trial asks for {asked.cpus:g} CPU and {gpus:g} GPU (--cpus-per-trial, --gpus-per-trial), "
            f"but {len(nodes)} node(s) have {available['CPU']:g} CPU and {available['GPU']:g} GPU: ask for less"
        )
    return Resources(asked.cpus, gpus), slots


def _slots(node: dict[str, float], cpus: float, gpus: float) -> int:
    """Trials that fit on a node; a fraction of a GPU is always of one GPU, so 0.15 fits six times on each."""
    by_cpu = int(node.get("CPU", 0.0) / cpus + 1e-9)
    if gpus == 0:
        return by_cpu
    count = int(node.get("GPU", 0.0))
    by_gpu = count * int(1 / gpus + 1e-9) if gpus < 1 else int(count / gpus + 1e-9)
    return min(by_cpu, by_gpu)
