"""The part of its machine that this process may use, which can be less than the machine has."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import resource
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path("/")
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


def cores(root: Path = ROOT) -> int:
    """Return the number of processors that this process may use.

    min(those it is bound to, the quotas of its control groups), rounded down, and at least 1. `taskset` and a
    container's `--cpuset-cpus` bind a process to some; a container's `--cpus` is a quota.

    Args:
        root: where `proc` and `sys` are.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.floor(min([bound, *_quotas(root)])))


@cache
def processor(root: Path = ROOT) -> str:
    """Return the processor's model where Linux names it, else its architecture."""
    lines = (line.partition(":") for line in _text(root / "proc" / "cpuinfo").splitlines())
    return next((text.strip() for name, _, text in lines if name.strip() == "model name"), platform.machine())


def free_processes(root: Path = ROOT) -> float:
    """Return how many more processes and threads this user (`ulimit -u`) and this container may start; inf if any."""
    free = [math.inf]
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if os.geteuid() != 0 and limit != resource.RLIM_INFINITY:  # the kernel lets root alone
        free.append(limit - _threads_of_user(root))
    for folder in _control_groups("pids", root):
        most, now = _text(folder / "pids.max"), _text(folder / "pids.current")
        if most.isdigit() and now.isdigit():
            free.append(int(most) - int(now))
    return max(0, min(free))


def open_files() -> float:
    """Return how many files a process may have open, its own limit raised as far as it may be (`ulimit -Hn`)."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def keep_freed_memory() -> None:
    """Have this process keep up to 256 MiB that are freed, where its C library is glibc.

    Each training step frees and takes the same arrays again, and glibc gives arrays above 128 KiB back to the system.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):  # musl has none
        mallopt(M_MMAP_THRESHOLD, 32 * 2**20)  # the most that it allows
        mallopt(M_TRIM_THRESHOLD, 256 * 2**20)


def _quotas(root: Path) -> Iterator[float]:
    """Yield processors by each quota: of version 2 as `cpu.max`, of version 1 as two files (µs, −1: none)."""
    for folder in _control_groups("cpu", root):
        words = _text(folder / "cpu.max").split()
        words = words or [_text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")]
        if len(words) == 2 and all(word.isdigit() for word in words):
            yield int(words[0]) / int(words[1])


def _control_groups(controller: str, root: Path) -> Iterator[Path]:
    """Yield the folders of this process's control groups and those around them; a container may see the last alone."""
    mounted = root / "sys" / "fs" / "cgroup"
    for line in _text(root / "proc" / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            hierarchies = [mounted, mounted / "unified"]
        elif controller in controllers.split(","):
            hierarchies = [mounted / controllers, mounted / controller]
        else:
            continue
        group = PurePosixPath(path.lstrip("/"))
        for hierarchy in hierarchies:
            yield from (hierarchy / folder for folder in (group, *group.parents))


def _threads_of_user(root: Path) -> int:
    count = 0
    for process in (root / "proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == os.getuid():
                count += len(os.listdir(process / "task"))
        except OSError:  # it has ended meanwhile
            continue
    return count


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # no such control group, or none that this process sees
        return ""
