"""Ray's workers of this process that train, and the death of one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path


def training_workers() -> list[int]:
    """Process ids of this process's own Ray workers that are in the middle of an epoch."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listing.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}

    def ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [
        int(pid) for pid, _, args in rows if args.startswith("ray::") and "Trainable.train" in args and ours(int(pid))
    ]


def kill_one_worker(out: Path, killed: list[int], give_up: threading.Event) -> None:
    """Kill the first worker that is seen training, once every trial that runs has a checkpoint."""
    while not killed and not give_up.is_set():
        time.sleep(0.05)
        workers = training_workers()
        if len(list((out / "checkpoints").glob("*.fold*.pt"))) >= len(workers) > 0:
            os.kill(workers[0], signal.SIGKILL)
            killed.append(workers[0])
