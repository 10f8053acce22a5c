"""The program that proves the versions in pyproject.toml, without an installation."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests import environments

UV = """#!/bin/sh
[ "$1" = python ] || { echo "no network"; exit 1; }
echo "cpython-3.14.0rc1-linux  pypy-3.15.2-linux"
echo "cpython-3.13.2-linux-x86_64-gnu  /usr/bin/python3.13"
echo "cpython-3.9.18-linux-x86_64-gnu  /usr/bin/python3.9"
"""


def test_what_fails_ends_with_1_and_leaves_its_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    uv = tmp_path / "uv"
    uv.write_text(UV)
    uv.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: str(uv))
    monkeypatch.setattr(environments.tempfile, "tempdir", str(tmp_path))
    assert environments.pythons(str(uv)) == ["3.11", "3.13"]
    monkeypatch.setattr(sys, "argv", ["environments", "--only", "lowest"])
    assert environments.main() == 1
    heading, tests, logs = capfd.readouterr().out.splitlines()
    assert heading.split() == ["lowest@3.11", "lowest@3.13"]
    assert tests.split() == ["tests", *["not", "installed"] * 2]
    assert Path(logs.split()[-1], "lowest@3.13-venv.log").read_text() == "no network\n"
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(SystemExit, match="2"):
        environments.main()


def test_tests_are_counted(tmp_path: Path) -> None:
    suite = '<testsuites><testsuite tests="9" failures="2" errors="1" skipped="4"/></testsuites>'
    (tmp_path / "tests.xml").write_text(suite)
    assert environments.counts(tmp_path / "tests.xml") == "2 passed, 3 failed"
