"""The Ray cluster that trials run on: one of our own on this machine, or one that is there already."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fmim.runner.cluster.settings  # noqa: F401

# isort: split
import ray

from fmim.exit_codes import BAD_INPUT
from fmim.runner.cluster.head import START_S, Head
from fmim.runner.cluster.tokens import TOKEN, kept_token, own_token

ANSWER_S = 30.0
"""How long a cluster of others may take to let us in."""


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
def joined_cluster(address: str) -> Iterator[Path]:
    """Be in the cluster at `address` for the block; yields the folder of its logs on this machine.

    Raises:
        ValueError: there is none at that address, or it does not let us in.
    """
    nobody = f"no Ray cluster can be reached at --address {address}"
    with kept_token(), _connection():
        if problem := _problem_of_joining(address):
            raise ValueError(f"{nobody}: {problem}; --backend inline needs no Ray")
        try:
            session = _connect(address)
        except Exception as error:  # Ray raises whatever its parts do
            raise ValueError(f"{nobody}: {error}; --backend inline needs no Ray") from error
        yield Path(session, "logs")


@contextmanager
def _connection() -> Iterator[None]:
    try:
        yield
    finally:
        ray.shutdown()


def _problem_of_joining(address: str) -> str | None:
    """Join in another process first: where it is not let in Ray waits for minutes or for ever, and nothing, no thread
    either, interrupts it."""
    command = [sys.executable, "-c", "import ray, sys; ray.init(sys.argv[1], log_to_driver=False)", address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as trial:
        try:
            said = trial.communicate(timeout=ANSWER_S)[1]
        except subprocess.TimeoutExpired:
            trial.kill()
            said = trial.communicate()[1]
    if trial.returncode == 0:
        return None
    if "Unauthenticated" in said:
        return f"it asks for another token: set {TOKEN}"
    last = said.strip().splitlines()[-1:]
    if trial.returncode > 0:
        return last[0] if last else "Ray does not say why"
    where = f" The last that Ray said: {last[0]}" if last else ""
    return f"it has not let us in for {ANSWER_S:g} s, as where its workers do not start; see its logs.{where}"


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
