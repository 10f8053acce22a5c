"""The guides: their code is as this project's own ruff wants it (other tests follow them to the letter)."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.paths import GUIDES, ROOT

BLOCKS = [
    pytest.param(code, id=f"{path.relative_to(ROOT)}-{number}")
    for path in GUIDES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
]


def ruff(*arguments: str, code: str) -> str:
    """What ruff says of the code, with this project's settings."""
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(ROOT / "guide.py"), "-"]
    done = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize("code", BLOCKS)
def test_the_code_of_a_guide_passes_ruff(code: str) -> None:
    assert ruff("check", "--quiet", code=code) == ""
    assert ruff("format", "--check", "--quiet", code=code) == ""


def test_there_are_guides_with_code() -> None:
    assert len(BLOCKS) >= 10
