"""The Ray cluster that trials run on: one of our own on this machine, or one that others have."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from fmim_core.machine import cores, free_processes, open_files

START_S, JOIN_S, CONNECT_S = 60.0, 30.0, 5.0
"""Seconds that a cluster of our own may take to start, one of others to let us in, and its machine to answer at all."""
LOOK_S, LOST_S = 2.0, 8.0
"""Seconds between two looks whether the cluster's head is there, and without an answer until it is given up."""
TUNE_THREAD = "tune"
"""The name of the thread in which Ray Tune runs. It ends with the run, unless its cluster has gone."""
DRIVER_LOG = "fmim-driver.err"
"""Has what Ray says in this process, among Ray's logs."""
PROCESSES, PROCESSES_PER_CORE, FILES, FILES_PER_CORE = 200, 50, 48, 16
"""The needs of Ray, threads among the processes: measured were 190 and 55 on 2 cores, before its workers train."""
LONGEST_TEMPORARY = 107 - len("/ray/session_2000-01-01_00-00-00_000000_0000000/sockets/plasma_store")
"""Characters: the path of a Unix socket has 107."""


@contextmanager
def cluster_for(backend: Literal["ray", "inline"], address: str | None) -> Iterator[RayCluster | None]:
    """Begin to start or to join the cluster that a backend needs, for the block; None where it needs none.

    Raises:
        ValueError: nobody answers at that address, the cluster refuses our token, or this machine has not what Ray
            needs.
    """
    if backend == "inline":
        yield None
        return
    _check_limits() if address is None else _check_address(address)
    with _token(address):
        cluster = RayCluster(address)
        try:
            cluster.check_admitted()
            yield cluster
        finally:
            cluster.leave()


class RayCluster:
    """A cluster that Ray starts or joins in a thread, while this program still loads PyTorch and makes the plan.

    All processes of a cluster of our own end with this one, even after SIGKILL: the kernel ends what the thread has
    started, workers follow the raylet, and `_end_with_us` sees to the rest.
    """

    def __init__(self, address: str | None) -> None:
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # of what Ray prints; all of it is in its logs
        import ray  # noqa: F401  # here: imported in two threads at once, packages may find each other half imported

        self.address = address
        self._session = self._head = ""
        self._silent_since: float | None = None
        self._error: BaseException | None = None
        self._answered, self._settled, self._leave = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._live, name="ray", daemon=True)
        self._thread.start()

    def check_admitted(self) -> None:
        """Raise a `ValueError` as soon as a cluster of others refuses us; without its answer go on after a while."""
        if self.address is not None and self._answered.wait(CONNECT_S) and self._error is not None:
            raise ValueError(
                f"the Ray cluster at --address {self.address} does not let this program in: "
                f"{str(self._error).partition('. ')[0]}; set RAY_AUTH_TOKEN to the cluster's token, or copy "
                "~/.ray/auth_token from the machine where `ray start --head` ran"
            ) from self._error

    @property
    def logs(self) -> Path:
        """Return the folder of the logs on this machine, as soon as trials can be started.

        Raises:
            ValueError: Ray cannot start here, or the cluster does not let us in.
        """
        what, seconds = "Ray cannot start on this machine", START_S
        if self.address is not None:
            what, seconds = f"cannot join a Ray cluster at --address {self.address}", JOIN_S
        in_time = self._settled.wait(seconds)
        if threading.current_thread() is threading.main_thread():  # which alone can: Ray's handler prints a stack
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        if in_time and self._error is None:
            return Path(self._session, "logs")
        why = str(self._error) if in_time else f"no answer for {seconds:g} s; see its logs"
        hint = "" if self.address is None else "; if it needs a token, set RAY_AUTH_TOKEN"
        raise ValueError(f"{what}: {why}{hint}; --backend inline needs no Ray") from self._error

    def check(self) -> None:
        """Raise a `ConnectionError` where the cluster's head has not answered for a while, asked every few seconds."""
        begun = time.monotonic()
        if _fault_of(self._head) is None:
            self._silent_since = None
            return
        self._silent_since = self._silent_since or begun
        if (silent_s := time.monotonic() - self._silent_since) > LOST_S:
            what = "the head of the Ray cluster has not answered"
            raise ConnectionError(f"{what} for {silent_s:.0f} s; its logs: {self.logs}")

    def leave(self) -> None:
        """End a cluster of our own, or the connection to one of others."""
        self._leave.set()
        if self._settled.is_set():  # else Ray waits for something, and ends with this process
            self._thread.join()

    def _live(self) -> None:
        import ray
        from ray._private import worker

        # What Ray starts inherits the mask: a terminal's Ctrl-C and its end reach our program, which ends Ray in order.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        init: Any = partial(ray.init, logging_level=logging.ERROR, log_to_driver=False)
        reaper = None
        log = logging.getLogger("ray")
        to_terminal = [*log.handlers]
        try:
            if self.address is not None:
                _knock(self.address)
                self._answered.set()
                context = init(self.address)
            else:  # without an address Ray would join any cluster noted on this machine, and wait for a dead one
                place = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
                sockets = os.path.join(place if len(place) <= LONGEST_TEMPORARY else "/tmp", "ray")
                context = init("local", num_cpus=cores(), include_dashboard=False, _temp_dir=sockets)
                reaper = _end_with_us(Path(context.address_info["session_dir"]).name)
            self._session = context.address_info["session_dir"]
            log.handlers[:] = [_log_in(Path(self._session, "logs", DRIVER_LOG))]  # tracebacks, too
            # Ray would print the last words of a raylet that dies: hundreds of lines.
            worker.print_to_stdstream = lambda data, ignore_prefix: log.error("\n".join(data["lines"]))
            self._head = context.address_info["gcs_address"]
        except BaseException as error:  # Ray raises whatever its parts do, SystemExit too
            self._error = error
        self._answered.set()
        self._settled.set()
        self._leave.wait()  # in this thread: what it has started ends with it
        if self._head and _fault_of(self._head):  # Ray would wait for it, and then end this process without a word
            atexit.unregister(ray.shutdown)
        else:
            ray.shutdown()
            log.handlers[:] = to_terminal
        if reaper is not None:
            reaper.communicate()


def _log_in(path: Path) -> logging.Handler:
    """Return what writes messages to a file, or nowhere where the folder is another user's."""
    try:
        return logging.FileHandler(path)
    except OSError:
        return logging.NullHandler()


def _knock(address: str) -> None:
    """Ask a cluster for its name, which it refuses at once without its token: `ray.init` would try for 20 s."""
    from ray._private.services import canonicalize_bootstrap_address
    from ray._raylet import GcsClient  # type: ignore[attr-defined]

    if found := canonicalize_bootstrap_address(address):  # None: no cluster is noted on this machine, says `ray.init`
        GcsClient(found)


def _end_with_us(session: str) -> subprocess.Popen[bytes]:
    """Have the raylet's agents, and workers that are just starting, end with this process.

    Where it was killed, they would wait for a cluster that has gone, up to a minute.
    """
    import psutil  # it comes with Ray

    ours = psutil.Process().children(recursive=True)
    agents = [str(process.pid) for process in ours if process.parent().name() == "raylet"]
    command = ["sh", "-c", 'read _; kill -9 "$@" 2>/dev/null; pkill -9 -f "$0"', session, *agents]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


@contextmanager
def _token(address: str | None) -> Iterator[None]:
    """Set the token for the block that the processes of a cluster show each other.

    A cluster of our own has one of its own: Ray's would lie in the home directory, for every cluster the same. To a
    cluster at HOST:PORT Ray shows its token only if told to; one without does not mind.
    """
    kept = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or os.path.expanduser("~/.ray/auth_token"))
    if address is None:
        variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    elif "RAY_AUTH_MODE" not in os.environ and ("RAY_AUTH_TOKEN" in os.environ or kept.is_file()):
        variables = {"RAY_AUTH_MODE": "token"}
    else:
        variables = {}
    before = {name: os.environ.get(name) for name in variables}
    _set_token(variables)
    try:
        yield
    finally:
        _set_token(before)


def _set_token(variables: Mapping[str, str | None]) -> None:
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    Config.initialize("")  # Ray reads mode and token once, and a process may have had another cluster before
    AuthenticationTokenLoader.instance().reset_cache()


def _check_address(address: str) -> None:
    """Raise a `ValueError` where nobody listens at an address, for which Ray would try for a minute."""
    if address == "auto":  # for Ray to look up
        return
    if fault := _fault_of(address):
        raise ValueError(
            f"cannot reach a Ray cluster at --address {address}: {fault}; give HOST:PORT or auto; --backend inline "
            "needs no Ray"
        )


def _fault_of(address: str) -> Exception | None:
    """Return why nobody can be reached at HOST:PORT, or None."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        return error
    return None


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
                f"Ray needs about {needed} {what} on {cores()} cores, but this process may only use {there:g} more: "
                "raise the limit, or use --backend inline, which needs no Ray"
            )
