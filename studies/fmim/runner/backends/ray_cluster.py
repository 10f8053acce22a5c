"""The Ray cluster that trials run on: one of our own on this machine, or one that others have."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeVar

from fmim.runner.backends.ray_admission import CONNECT_S, check_address, check_limits, fault_of, knock, token_for
from fmim_core.machine import cores

START_S, JOIN_S, END_S = 60.0, 30.0, 5.0
"""Seconds that a cluster of our own may take to start, one of others to let us in, and either of them to end."""
LOOK_S, LOST_S = 2.0, 8.0
"""Seconds between two looks whether the cluster's head is there, and without an answer until it is given up."""
RAY_THREAD = "ray"
"""The name of the threads in which Ray is called. They end before the program, but where it is interrupted as Ray
starts or ends, or where its cluster has gone."""
DRIVER_LOG = "fmim-driver.err"
"""Has what Ray says in this process, among Ray's logs."""
LONGEST_TEMPORARY = 107 - len("/ray/session_2000-01-01_00-00-00_000000_0000000/sockets/plasma_store")
"""Characters: the path of a Unix socket has 107."""

T = TypeVar("T")


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
    check_limits() if address is None else check_address(address)
    with token_for(address):
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
        self._thread = threading.Thread(target=self._live, daemon=True)
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
        if in_time and self._error is None:
            return Path(self._session, "logs")
        why = str(self._error) if in_time else f"no answer for {seconds:g} s; see its logs"
        hint = "" if self.address is None else "; if it needs a token, set RAY_AUTH_TOKEN"
        raise ValueError(f"{what}: {why}{hint}; --backend inline needs no Ray") from self._error

    def wait(self, call: Future[T]) -> T:
        """Return what a call in another thread returns.

        Raises:
            ConnectionError: the cluster's head has gone.
        """
        while not wait([call], timeout=LOOK_S).done:
            self._check_head()
        return call.result()

    def _check_head(self) -> None:
        """Raise a `ConnectionError` where the cluster's head has not answered for a while, asked every few seconds."""
        begun = time.monotonic()
        if fault_of(self._head) is None:
            self._silent_since = None
            return
        self._silent_since = self._silent_since or begun
        if (silent_s := time.monotonic() - self._silent_since) > LOST_S:
            what = "the head of the Ray cluster has not answered"
            raise ConnectionError(f"{what} for {silent_s:.0f} s; its logs: {self.logs}")

    def leave(self) -> None:
        """End a cluster of our own, or the connection to one of others; what still hangs then ends with the process."""
        self._thread.name = RAY_THREAD  # from now on the program may end without it
        if self._head and fault_of(self._head):  # Ray would wait for it, and then end this process without a word
            import ray

            atexit.unregister(ray.shutdown)
            return
        self._leave.set()
        if self._settled.is_set():
            self._thread.join(END_S)  # its head may be about to end
        else:  # Ray waits for something, and ends with this process: but for the agents of a raylet
            _end_raylets()

    def _live(self) -> None:
        import ray
        from ray._private import worker

        # What Ray starts inherits the mask: what a terminal or Slurm sends to all of us reaches this program alone,
        # which ends Ray in order.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP, signal.SIGTERM})
        init: Any = partial(ray.init, logging_level=logging.ERROR, log_to_driver=False)
        reaper = None
        log = logging.getLogger("ray")
        to_terminal = [*log.handlers]
        try:
            if self.address is not None:
                knock(self.address)
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
        if worker._global_node is not None:
            for info in chain(*worker._global_node.all_processes.values()):  # they do not hear SIGTERM
                info.process.terminate = info.process.kill
        ray.shutdown()
        log.handlers[:] = to_terminal
        if reaper is not None:
            reaper.communicate()


def in_thread(call: Callable[[], T]) -> Future[T]:
    """Make a call in another thread: where the head has gone, Ray's calls block for a minute, and hold up signals."""
    future = Future[T]()

    def make() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=make, name=RAY_THREAD, daemon=True).start()
    return future


def _log_in(path: Path) -> logging.Handler:
    """Return what writes messages to a file, or nowhere where the folder is another user's."""
    try:
        return logging.FileHandler(path)
    except OSError:
        return logging.NullHandler()


def _end_with_us(session: str) -> subprocess.Popen[bytes]:
    """Have the raylet's agents, and workers that are just starting, end with this process.

    Where it was killed, they would wait for a cluster that has gone, up to a minute.
    """
    import psutil  # it comes with Ray

    ours = psutil.Process().children(recursive=True)
    agents = [str(process.pid) for process in ours if process.parent().name() == "raylet"]
    command = ["sh", "-c", 'read _; kill -9 "$@" 2>/dev/null; pkill -9 -f "$0"', session, *agents]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def _end_raylets() -> None:
    """End the raylets that this process has started, and their agents, which do not see yet when a raylet dies."""
    import psutil  # it comes with Ray

    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            if child.name() == "raylet":
                child.suspend()  # lest it starts another one meanwhile
                for process in (*child.children(recursive=True), child):
                    process.kill()
