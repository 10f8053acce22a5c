"""A cluster of our own, in the surroundings that it may find, and closed to everybody else; addresses of others."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fmim.runner.backends import ray_admission, ray_cluster
from fmim.runner.backends.ray_cluster import cluster_for
from tests.support.paths import ROOT
from tests.support.program import free_port, wait_for

SLOTS = """
import json, os, signal, sys
from fmim.runner.backends.ray_cluster import cluster_for
if sys.argv[1:] == []:
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
heard = []
signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
with cluster_for("ray", sys.argv[1] if sys.argv[1:] else None) as cluster:
    from fmim.runner.backends.ray_backend import RayBackend
    print(RayBackend.of(cluster, 1.0, 0.0).slots, flush=True)
"""
CHECKING = """
import sys
from fmim.runner.backends.ray_cluster import cluster_for
with cluster_for("ray", sys.argv[1]):
    print("checking the plan")
"""
INSIDE = """
    import psutil, ray
    signal.raise_signal(signal.SIGTERM)
    ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
    sockets = [one for process in ours for one in process.net_connections("tcp") if one.status == "LISTEN"]
    print(json.dumps({
        "interpreter": ray.get(ray.remote(lambda: sys.executable).remote()),
        "listening": sorted({one.laddr.ip.removeprefix("::ffff:") for one in sockets}),
        "commands": [process.cmdline() for process in ours],
        "token": os.environ["RAY_AUTH_TOKEN"],
        "logs": str(cluster.logs),
        "gcs": ray.get_runtime_context().gcs_address,
    }), flush=True)
    input()
signal.raise_signal(signal.SIGTERM)
print(len(heard), os.environ.get("RAY_AUTH_TOKEN"), os.environ.get("RAY_AUTH_MODE"))
"""


@pytest.mark.slow
def test_a_cluster_of_our_own_takes_what_it_finds_and_lets_nobody_in(tmp_path: Path) -> None:
    """No home, one processor, a temporary folder with a long path, started by `uv run`: as in a container."""
    long = tmp_path / ("x" * 77)
    long.mkdir()
    (tmp_path / "run").write_text('"$@"; exit $?\n')  # for the parent process, a shell that is called uv
    variables = {"TMPDIR": str(long), "HOME": "/dev/null/x", "RAY_AUTH_MODE": "disabled"}
    environment = os.environ | variables | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        ["uv", "run", sys.executable, "-c", SLOTS + INSIDE],
        executable="/bin/bash",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    ) as driver:
        assert driver.stdout is not None
        slots, told = (json.loads(driver.stdout.readline()) for _ in range(2))
        try:
            refused = first_line_of_stranger(told["gcs"])
        finally:
            rest = driver.communicate("\n", timeout=60)[0]
    assert (slots, told["interpreter"]) == (1, sys.executable)
    assert told["listening"] == ["127.0.0.1"]
    assert "Unauthenticated" in refused
    assert len(told["token"]) == 64
    assert told["token"] not in str(told["commands"])
    written = [path for path in Path(told["logs"]).parent.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert [path for path in written if told["token"].encode() in path.read_bytes()] == []
    assert rest == "2 None disabled\n"  # SIGTERM is heard, whatever Ray does with it
    assert list(long.iterdir()) == []


def first_line_of_stranger(address: str) -> str:
    """What Ray says to one who knows the address, and another token; by itself it would try for a while."""
    program = "import sys, ray; ray.init(sys.argv[1], logging_level='ERROR')"
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    command = [sys.executable, "-c", program, address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | variables) as stranger:
        assert stranger.stderr is not None
        line = stranger.stderr.readline()
        stranger.kill()
    return line


@pytest.mark.parametrize(
    ("limit", "there", "words"),
    [
        (
            "free_processes",
            148,
            r"Ray needs about 300 processes and threads \(ulimit -u, .* on 2 cores, but this process may only use 148",
        ),
        ("open_files", 40, r"Ray needs about 80 open files \(ulimit -n\) on 2 cores, but this process may only use 40"),
    ],
)
def test_limits_that_make_ray_hang_are_told_in_advance(
    monkeypatch: pytest.MonkeyPatch, limit: str, there: int, words: str
) -> None:
    monkeypatch.setattr(ray_admission, "cores", lambda: 2)
    monkeypatch.setattr(ray_admission, limit, lambda: there)
    with pytest.raises(ValueError, match=words), cluster_for("ray", None):
        pass


@pytest.mark.parametrize(
    "address", ["local", "127.0.0.1", "127.0.0.1:70000", "http://127.0.0.1:80", "", "no.such.host.invalid:6379"]
)
def test_an_address_where_nobody_is_ends_the_start_at_once(address: str) -> None:
    with pytest.raises(ValueError, match=f"--address {address}: .* give HOST:PORT"), cluster_for("ray", address):
        pass


def test_where_the_logs_are_another_users_ray_stays_silent(tmp_path: Path) -> None:
    assert isinstance(ray_cluster._log_in(tmp_path / "not there" / "driver.err"), logging.NullHandler)


@pytest.mark.slow
def test_what_is_no_ray_ends_the_start_in_time() -> None:
    """Ray itself would try for a minute."""
    hasty = "from fmim.runner.backends import ray_cluster\nray_cluster.JOIN_S = 1.0\n"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-c", hasty + SLOTS, address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert f"--address {address}: no answer for 1 s" in done.stderr


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose name is short enough for the sockets that Ray puts there."""
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.slow
def test_a_cluster_that_ray_start_made_is_reached_by_its_address(short: Path) -> None:
    """It asks for a token, which Ray itself does not send to HOST:PORT, and refuses another before a plan is made."""
    port, log = free_port(), short / "log"
    ray = str(Path(sys.executable).with_name("ray"))
    start = [ray, "start", "--head", "--block", "--port", str(port), "--num-cpus", "3", "--include-dashboard", "false"]
    environment = os.environ | {"RAY_TMPDIR": str(short)}  # where Ray notes its clusters
    with log.open("w") as told:
        head = subprocess.Popen(start, stdout=told, stderr=told, start_new_session=True, env=environment)
    try:
        wait_for(lambda: "Ray runtime started" in log.read_text(), head, log, seconds=60)
        command = [sys.executable, "-c", SLOTS, f"127.0.0.1:{port}"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=90, cwd=ROOT, env=environment).stdout
        assert said == "3\n"
        stranger = environment | {"RAY_AUTH_TOKEN": "0" * 64}
        command = [sys.executable, "-c", CHECKING, f"127.0.0.1:{port}"]
        refused = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=stranger, check=False)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert f"--address 127.0.0.1:{port} does not let this program in" in refused.stderr
    finally:
        os.killpg(head.pid, signal.SIGKILL)  # `ray start --block` waits on where it is asked to end
        head.wait(timeout=30)
