"""What a process may use, with control groups of both versions laid out as the kernel does."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from fmim_core.machine import cores, free_processes, keep_freed_memory, open_files, processor

BOUND = len(os.sched_getaffinity(0))


def laid_out(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


V1 = "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_"


@pytest.mark.parametrize(
    ("group", "files", "quota"),
    [
        ("0::/", {}, None),
        ("0::/", {"sys/fs/cgroup/cpu.max": "max 100000"}, None),
        ("0::/", {"sys/fs/cgroup/cpu.max": "150000 100000"}, 1),
        ("0::/", {"sys/fs/cgroup/cpu.max": "50000 100000"}, 1),  # less than one
        ("0::/a/b", {"sys/fs/cgroup/a/cpu.max": "100000 100000"}, 1),  # of the group around it
        ("3:cpu,cpuacct:/", {f"{V1}quota_us": "-1"}, None),
        # A container sees its group as the outermost.
        ("3:cpu,cpuacct:/docker/f00\n0::/", {f"{V1}quota_us": "100000", f"{V1}period_us": "100000"}, 1),
    ],
)
def test_a_quota_of_a_control_group_is_rounded_down(
    tmp_path: Path, group: str, files: dict[str, str], quota: int | None
) -> None:
    assert cores(laid_out(tmp_path, files | {"proc/self/cgroup": group})) == min(BOUND, quota or BOUND)
    assert cores(tmp_path / "nowhere") == BOUND


def test_a_process_that_is_bound_to_one_processor_has_one() -> None:
    one = str(min(os.sched_getaffinity(0)))
    program = f"import os; os.sched_setaffinity(0, [{one}]); from fmim_core.machine import cores; print(cores())"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "1\n"


def test_a_processor_is_named_as_the_kernel_does(tmp_path: Path) -> None:
    info = "processor\t: 0\nmodel name\t: Fast CPU @ 3: GHz\nprocessor\t: 1\nmodel name\t: other"
    assert processor(laid_out(tmp_path, {"proc/cpuinfo": info})) == "Fast CPU @ 3: GHz"
    assert processor(tmp_path / "nowhere") == platform.machine()


def test_what_a_container_may_still_start_is_its_limit_less_what_runs(tmp_path: Path) -> None:
    group = {"proc/self/cgroup": "0::/", "sys/fs/cgroup/pids.max": "100", "sys/fs/cgroup/pids.current": "40"}
    assert free_processes(laid_out(tmp_path, group)) == 60
    laid_out(tmp_path, {"sys/fs/cgroup/pids.max": "max"})
    assert free_processes(tmp_path) > 60


def test_the_limit_on_open_files_is_the_hard_one() -> None:
    assert open_files() == resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="others have no such setting")
def test_arrays_of_a_step_are_taken_from_those_of_the_last_one() -> None:
    def faults_of_a_step() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        arrays = [torch.ones(2**20) for _ in range(8)]  # of 1,024 pages each
        del arrays
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    keep_freed_memory()
    assert min(faults_of_a_step() for _ in range(6)) < 1024  # 8,192 where they are given back
