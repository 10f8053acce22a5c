"""The Ray cluster that trials run on: one of our own on this machine, or one that is there already."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fmim.runner.cluster.settings  # noqa: F401

# isort: split
import ray

from fmim.runner.cluster.head import START_S, Head
from fmim.runner.cluster.joining import Joining
from fmim.runner.cluster.tokens import kept_token, own_token
from fmim.runner.ending.exit_codes import BAD_INPUT


@contextmanager
def own_cluster(head: Head) -> Iterator[Path]:
    """Be in the cluster that the head starts, for the block; yields the folder of its logs.

    Raises:
        ValueError: it cannot start on this machine.
    """
    address, logs = head.ready
    late = f"Ray has not let this program in within {START_S:g} s, see {logs}; --backend inline needs no Ray"
    with own_token(head.token), _connection():
        try:
            with _in_time(START_S, late):
                _connect(address)
        except Exception as error:  # Ray raises whatever its parts do
            raise ValueError(f"Ray cannot start on this machine: {error}; --backend inline needs no Ray") from error
        yield logs


@contextmanager
def joined_cluster(joining: Joining) -> Iterator[Path]:
    """Be in the cluster that another process has joined before, for the block; yields its logs' folder on this machine.

    Raises:
        ValueError: it does not let us in.
    """
    nobody = f"no Ray cluster can be reached at --address {joining.address}"
    with kept_token(), _connection():
        if problem := joining.problem:
            raise ValueError(f"{nobody}: {problem}; --backend inline needs no Ray")
        try:
            session = _connect(joining.address)
        except Exception as error:  # Ray raises whatever its parts do
            raise ValueError(f"{nobody}: {error}; --backend inline needs no Ray") from error
        yield Path(session, "logs")


@contextmanager
def _connection() -> Iterator[None]:
    try:
        yield
    finally:
        ray.shutdown()


def _connect(address: str) -> str:
    """Be a driver of that cluster; the folder of its session."""
    context = ray.init(address, logging_level=logging.ERROR, log_to_driver=False)
    return getattr(context, "address_info", {}).get("session_dir", "")  # ray:// has none


@contextmanager
def _in_time(seconds: float, problem: str) -> Iterator[None]:
    """End the program with `problem` where the block takes longer: Ray waits where no exception reaches it."""

    def end() -> None:
        print(f"error: {problem}", file=sys.stderr, flush=True)
        os._exit(BAD_INPUT)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
