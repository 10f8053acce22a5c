"""The program as a user starts it: in a process of its own, or in this one, which spares importing torch again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from fmim.cli import main
from fmim.runner.ending.exit_codes import DONE
from tests.support.paths import ROOT

WIDE = "250"  # columns, so that messages are not wrapped
Program = Callable[..., CompletedProcess[str]]


def fmim(*arguments: object, cwd: Path, **variables: str) -> CompletedProcess[str]:
    """Run `python studies/run.py …` in a folder."""
    command = [sys.executable, str(ROOT / "studies" / "run.py"), *map(str, arguments)]
    environment = {"PATH": "/usr/bin:/bin", "COLUMNS": WIDE, "HOME": str(cwd.parent), "OMP_NUM_THREADS": "1"}
    environment |= variables
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
