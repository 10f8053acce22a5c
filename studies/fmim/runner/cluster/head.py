"""A Ray cluster of our own, which a process beside ours starts while this one still makes the plan."""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import fmim.runner.cluster.settings  # noqa: F401
from fmim.runner.cluster import head_process
from fmim.runner.cluster.tokens import variables_of
from fmim_core.machine import cores, free_processes, open_files

START_S = 60.0
"""How long it may take to start."""
PROCESSES, PROCESSES_PER_CORE, FILES, FILES_PER_CORE = 200, 50, 48, 16
"""What Ray needs, threads among the processes: it was measured with 190 and 55 on 2 cores, before its workers train."""
LONGEST_TEMPORARY = 107 - len("/ray/session_2000-01-01_00-00-00_000000_0000000/sockets/plasma_store")
"""Characters: the path of a Unix socket has 107."""


@dataclass(frozen=True)
class Head:
    """The process that starts a cluster of our own, and has it until this process ends.

    token: what the cluster's processes show each other; whoever does not know it is refused.
    folder: of all that Ray writes. said: what Ray prints, as where it cannot start.
    """

    token: str
    folder: str
    said: Path
    _process: subprocess.Popen[str]
    _began: float

    @cached_property
    def ready(self) -> tuple[str, Path]:
        """The cluster's address and the folder of its logs, as soon as it is there.

        Raises:
            ValueError: it cannot start here, or takes longer than `START_S`.
        """
        assert self._process.stdout is not None
        left = max(0.0, self._began + START_S - time.monotonic())
        if not select.select([self._process.stdout], [], [], left)[0]:
            raise ValueError(
                f"Ray has not started on this machine within {START_S:g} s, see the logs in {self.folder}; "
                "--backend inline needs no Ray"
            )
        line = self._process.stdout.readline()
        if not line:
            last = [line for line in self.said.read_text(errors="replace").splitlines() if line.strip()][-1:]
            why = last[0] if last else "it does not say why"
            raise ValueError(f"Ray cannot start on this machine: {why}; --backend inline needs no Ray")
        address, logs = json.loads(line)
        return address, Path(logs)


def start_head(scratch: Path) -> Head:
    """Start a process that starts a cluster on this machine; what it prints goes to the folder `scratch`.

    It has a session of its own, so that Ctrl-C reaches this process alone; `guarded` ends both.

    Raises:
        ValueError: this machine has not what Ray needs.
    """
    folder, token, said = _temporary_folder(), secrets.token_hex(32), scratch / "ray.err"
    _check_limits()
    command = [sys.executable, "-P", head_process.__file__, folder, str(cores())]
    with said.open("w") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            env=os.environ | variables_of(token),
        )
    return Head(token, folder, said, process, time.monotonic())


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
