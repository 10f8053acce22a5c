"""The program as a user starts it: in a process of its own, or in this one, which spares importing torch again."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from fmim.cli import main
from fmim_core.records import DONE
from tests.support.paths import ROOT

WIDE = "250"  # columns, so that messages are not wrapped
Program = Callable[..., CompletedProcess[str]]


def fmim(*arguments: object, cwd: Path, **variables: str) -> CompletedProcess[str]:
    """Run `python studies/run.py …` in a folder."""
    command = [sys.executable, str(ROOT / "studies" / "run.py"), *map(str, arguments)]
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": WIDE, "HOME": str(cwd.parent), "OMP_NUM_THREADS": "1"}
    environment |= {"XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]} | variables
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def fmim_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """The same in this process; an exception that the program lets through is raised."""

    def run(*arguments: object, cwd: Path) -> CompletedProcess[str]:
        command = ["fmim", *map(str, arguments)]
        monkeypatch.chdir(cwd)
        monkeypatch.setenv("COLUMNS", WIDE)
        monkeypatch.setattr(sys, "argv", command)
        capsys.readouterr()
        try:
            main()
        except SystemExit as end:
            code = DONE if end.code is None else int(end.code)
        else:
            code = DONE
        said = capsys.readouterr()
        return CompletedProcess(command, code, said.out, said.err)

    return run


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


SOURCES = ("studies", "search_spaces", "reports", ".")


@dataclass(frozen=True)
class Imported:
    """Seconds that a module took: `alone`, and with all that it imports."""

    alone: float
    whole: float


def imports_of(arguments: Sequence[str], folder: Path) -> dict[str, Imported]:
    """Return what a program imports, by module, with Python's arguments for it; it must end well."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / source) for source in SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Imported] = {}
    for line in done.stderr.splitlines():
        alone, _, rest = line.removeprefix("import time:").partition("|")
        whole, _, module = rest.partition("|")
        if alone.strip().isdecimal():  # not the head of the columns
            found[module.strip()] = Imported(int(alone) / 1e6, int(whole) / 1e6)
    return found
