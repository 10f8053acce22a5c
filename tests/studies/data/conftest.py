"""`fmim …` as a user starts it, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.program import Program

Fmim = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fmim(tmp_path: Path, fmim_here: Program) -> Fmim:
    """Runs `fmim …` in an empty folder; returns exit code, standard output and error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        done = fmim_here(*arguments, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    return run
