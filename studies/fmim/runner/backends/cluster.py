"""The Ray cluster that trials run on: one on this machine, for this process alone, or one that is there already."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fmim.exit_codes import BAD_INPUT
from fmim.runner.backends.tokens import TOKEN, kept_token, own_token
from fmim_core.machine import cores, free_processes, open_files

# Read when Ray is imported or starts: no log files of Tune's own (the records are ours), no experiment snapshots
# (the records are what a study resumes from), and Ctrl-C reaches us as everywhere else. A cluster of our own listens on
# the loopback interface alone (what Ray does by itself on Windows and macOS), and its workers run on our interpreter,
# not on one that `uv run` would make for each. Ray would let us in only once the first workers have started, and wait
# without a word where they cannot. Titles of its processes would overwrite the environment by which the watchdog knows
# them.
ENVIRONMENT = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_THRESHOLD_S": "10",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "1",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_prestart_worker_first_driver": "0",
    "SPT_NOENV": "1",
}
os.environ.update({name: os.environ.get(name, value) for name, value in ENVIRONMENT.items()})

import ray  # noqa: E402

LONGEST_TEMPORARY = 107 - len("/ray/session_2000-01-01_00-00-00_000000_0000000/sockets/plasma_store")
"""Characters: the path of a Unix socket has 107."""

START_S, ANSWER_S = 60.0, 30.0
"""How long a cluster of our own may take to start, and another to let us in."""
PROCESSES, PROCESSES_PER_CORE, FILES, FILES_PER_CORE = 200, 50, 48, 16
"""What Ray needs, threads among the processes: it was measured with 190 and 55 on 2 cores, before its workers train."""


@contextmanager
def cluster(address: str | None) -> Iterator[str]:
    """A Ray cluster for the block, the one at `address` or one on this machine; yields the folder of its logs.

    Raises:
        ValueError: there is none at that address, or this machine has not what Ray needs.
    """
    with kept_token() if address else own_token():
        logs = _join(address) if address else _start()
        try:
            yield logs
        finally:
            ray.shutdown()


def _join(address: str) -> str:
    nobody = f"no Ray cluster can be reached at --address {address}"
    if problem := _problem_of_joining(address):
        raise ValueError(f"{nobody}: {problem}; --backend inline needs no Ray")
    try:
        return _connect(address=address)
    except Exception as error:  # Ray raises whatever its parts do
        raise ValueError(f"{nobody}: {error}; --backend inline needs no Ray") from error


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


def _start() -> str:
    folder = _temporary_folder()
    _check_limits()
    late = f"Ray has not started on this machine within {START_S:g} s, see the logs in {folder}"
    try:
        with _in_time(START_S, f"{late}; --backend inline needs no Ray"):
            # "local": without an address Ray would join any cluster noted on this machine, and wait for a dead one.
            return _connect(address="local", include_dashboard=False, _temp_dir=folder, num_cpus=cores())
    except Exception as error:  # Ray raises whatever its parts do
        raise ValueError(f"Ray cannot start on this machine: {error}; --backend inline needs no Ray") from error


def _connect(**options: Any) -> str:
    context = ray.init(logging_level=logging.ERROR, log_to_driver=False, **options)
    return os.path.join(getattr(context, "address_info", {}).get("session_dir", ""), "logs")  # ray:// has none


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


def _check_limits() -> None:
    """Raise a `ValueError` where this process may not start what Ray needs, which would hang."""
    asked = (
        ("processes and threads (ulimit -u, or a container's limit)", free_processes(), PROCESSES, PROCESSES_PER_CORE),
        ("open files (ulimit -n)", open_files(), FILES, FILES_PER_CORE),
    )
    for what, there, fixed, per_core in asked:
        needed = fixed + per_core * cores()
        if there < needed:
            raise ValueError(
                f"Ray needs about {needed} {what} on {cores()} cores, but only {there:g} are left to this process: "
                "raise the limit, or use --backend inline, which needs no Ray"
            )


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
