"""A cluster of our own, in the surroundings that it may find, and closed to everybody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fmim.runner.cluster import head
from fmim.runner.cluster.start import starting

from tests.support.paths import ROOT

PROGRAM = """
import json, os, sys
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
from fmim.runner.backends.backend import open_backend
from fmim.runner.backends.room import Resources
from fmim.runner.cluster.start import starting
with starting("ray", None) as start, open_backend(start, Resources(1.0, 0.0)) as backend:
    import psutil, ray
    ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
    sockets = [one for process in ours for one in process.net_connections("tcp") if one.status == "LISTEN"]
    print(json.dumps({
        "slots": backend.slots,
        "interpreter": ray.get(ray.remote(lambda: sys.executable).remote()),
        "listening": sorted({one.laddr.ip.removeprefix("::ffff:") for one in sockets}),
        "commands": [process.cmdline() for process in ours],
        "token": os.environ["RAY_AUTH_TOKEN"],
        "session": "/tmp/ray/" + ray.get_runtime_context().get_session_name(),
        "gcs": ray.get_runtime_context().gcs_address,
    }), flush=True)
    input()
print(os.environ.get("RAY_AUTH_TOKEN"), os.environ.get("RAY_AUTH_MODE"))
"""
STRANGER = "import sys, ray; ray.init(sys.argv[1], logging_level='ERROR')"


def first_line_of_stranger(address: str) -> str:
    """What Ray says to one who knows the address, and another token; by itself it would try for a while."""
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    command = [sys.executable, "-c", STRANGER, address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | variables) as stranger:
        assert stranger.stderr is not None
        line = stranger.stderr.readline()
        stranger.kill()
    return line


@pytest.mark.slow
def test_a_cluster_of_our_own_takes_what_it_finds_and_lets_nobody_in(tmp_path: Path) -> None:
    """No home, one processor, a temporary folder with a long path, started by `uv run`: as in a container."""
    long = tmp_path / ("x" * 77)
    long.mkdir()
    (tmp_path / "run").write_text('"$@"; exit $?\n')  # for the parent process, a shell that is called uv
    variables = {"TMPDIR": str(long), "HOME": "/dev/null/x", "RAY_AUTH_MODE": "disabled"}
    environment = os.environ | variables | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["uv", "run", sys.executable, "-c", PROGRAM]
    with subprocess.Popen(
        command,
        executable="/bin/bash",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    ) as driver:
        assert driver.stdout is not None
        told = json.loads(driver.stdout.readline())
        try:
            refused = first_line_of_stranger(told["gcs"])
        finally:
            rest = driver.communicate("\n", timeout=60)[0]
    assert (told["slots"], told["interpreter"]) == (1, sys.executable)
    assert told["listening"] == ["127.0.0.1"]
    assert "Unauthenticated" in refused
    assert len(told["token"]) == 64
    assert told["token"] not in str(told["commands"])
    logs = [path for path in Path(told["session"]).rglob("*") if path.is_file()]
    assert len(logs) > 5
    assert [path for path in logs if told["token"].encode() in path.read_bytes()] == []
    assert rest == "None disabled\n"
    assert list(long.iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "there", "words"),
    [
        ("free_processes", 148, r"Ray needs about 300 processes and threads \(ulimit -u, .* on 2 cores, but only 148"),
        ("open_files", 40, r"Ray needs about 80 open files \(ulimit -n\) on 2 cores, but only 40 are left"),
    ],
)
def test_limits_that_make_ray_hang_are_told_in_advance(
    monkeypatch: pytest.MonkeyPatch, limit: str, there: int, words: str
) -> None:
    monkeypatch.setattr(head, "cores", lambda: 2)
    monkeypatch.setattr(head, limit, lambda: there)
    with pytest.raises(ValueError, match=words), starting("ray", None):
        pass


def test_what_hangs_ends_the_program_with_its_reason() -> None:
    program = (
        "import signal\nfrom fmim.runner.cluster.connection import _in_time\n"
        "with _in_time(0.1, 'too late'): signal.pause()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (ended.returncode, ended.stderr) == (2, "error: too late\n")
