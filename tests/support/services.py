"""Programs that tests start beside themselves: where they listen, and when they are ready."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def free_port() -> int:
    """A port on which nobody listens now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    """Wait until a program is ready; fail with its log where it has ended, or takes longer than this."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
