"""What a program started ends with it, however it ends, and its scratch folder goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fmim.runner.ending import watchdog
from fmim.runner.ending.guard import PREFIX, guarded

PROGRAM = """
import subprocess, sys
from fmim.runner.ending.guard import guarded
with guarded() as guard:
    guard.if_killed_say("the program was killed")
    child = "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True).wait()"
    subprocess.Popen([sys.executable, "-c", child])
    (guard.scratch / "file").write_text("")
    print(guard.scratch, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder that nobody else uses."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def start(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """The program, with its child and that one's child in their own session, and its scratch folder."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = os.environ | {"TMPDIR": str(folder)}
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], text=True, env=environment, **pipes)
    assert program.stdout is not None
    scratch = Path(program.stdout.readline().strip())
    assert until(lambda: len(commands(scratch)) == 2)
    return program, scratch


def commands(scratch: Path) -> list[str]:
    """Of the processes that the program started."""
    found = [Path(f"/proc/{process}/cmdline") for process in watchdog.processes(scratch)]
    return [path.read_bytes().replace(b"\0", b" ").decode() for path in found if path.exists()]


def until(condition: Callable[[], bool], seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_after_sigkill_nothing_is_left_and_a_word_is_said(tmp_path: Path) -> None:
    program, scratch = start(tmp_path)
    program.kill()
    _, said = program.communicate(timeout=30)  # ends when the last that could write has ended
    assert said == "the program was killed\n"
    assert commands(scratch) == []
    assert list(tmp_path.iterdir()) == []


def test_an_end_in_order_ends_what_was_started_without_a_word(tmp_path: Path) -> None:
    program, scratch = start(tmp_path)
    _, said = program.communicate("", timeout=30)
    assert (program.returncode, said) == (0, "")
    assert commands(scratch) == []
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_watchdog_left_is_cleared_by_the_next_start_and_nothing_else(here: Path) -> None:
    (here / f"{PREFIX}of_a_user").mkdir()
    program, scratch = start(here)
    with guarded() as other:
        assert {path.name for path in here.iterdir()} == {scratch.name, other.scratch.name, f"{PREFIX}of_a_user"}
    assert len(commands(scratch)) == 2
    (dog,) = children(program.pid, watchdog.__file__)
    os.kill(dog, signal.SIGKILL)
    assert until(lambda: open_files(dog) == 0)  # it ends a moment after the signal, and holds the lock until then
    program.kill()
    program.wait(timeout=30)
    assert len(commands(scratch)) == 2
    with guarded():
        assert not scratch.exists()
        assert commands(scratch) == []
    assert [path.name for path in here.iterdir()] == [f"{PREFIX}of_a_user"]


def open_files(process: int) -> int:
    """None where it has ended, be it that its parent has not asked for its exit code yet."""
    try:
        return len(os.listdir(f"/proc/{process}/fd"))
    except OSError:
        return 0


def children(parent: int, command: str) -> list[int]:
    """The processes that a process has started with this in their command."""
    of_it = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in of_it if command in Path(f"/proc/{child}/cmdline").read_text()]
