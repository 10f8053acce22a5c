"""Whether a cluster of others lets this program in: tried in another process, and ahead of time, since that takes
seconds; where it does not, Ray waits for minutes or for ever, and nothing, no thread either, interrupts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import fmim.runner.cluster.settings  # noqa: F401
from fmim.runner.cluster.tokens import TOKEN, kept_variables

ANSWER_S = 30.0
"""How long a cluster of others may take to let us in, once nothing else is to be done before."""


@dataclass(frozen=True)
class Joining:
    """A process that joins the cluster at an address, and ends."""

    address: str
    _process: subprocess.Popen[str]

    @cached_property
    def problem(self) -> str | None:
        """Why it is not let in, None if it is; waits for it."""
        try:
            said = self._process.communicate(timeout=ANSWER_S)[1]
        except subprocess.TimeoutExpired:
            self._process.kill()
            said = self._process.communicate()[1]
        code = self._process.returncode
        if code == 0:
            return None
        if "Unauthenticated" in said:
            return f"it asks for another token: set {TOKEN}"
        last = said.strip().splitlines()[-1:]
        if code > 0:
            return last[0] if last else "Ray does not say why"
        where = f" The last that Ray said: {last[0]}" if last else ""
        return f"it has not let us in for {ANSWER_S:g} s, as where its workers do not start; see its logs.{where}"


@contextmanager
def joining(address: str) -> Iterator[Joining]:
    """Begin to join the cluster at `address`; nothing is left of it after the block."""
    command = [sys.executable, "-c", "import ray, sys; ray.init(sys.argv[1], log_to_driver=False)", address]
    environment, pipe = os.environ | kept_variables(), subprocess.PIPE
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=pipe, text=True, env=environment) as process:
        try:
            yield Joining(address, process)
        finally:
            process.kill()
