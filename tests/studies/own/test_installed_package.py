"""Kinds and studies of an installed package are found by its entry points."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.own_files import my_study
from tests.support.program import fmim

pytestmark = pytest.mark.slow

ENTRY_POINTS = """[fmim.kinds]
mine = my_package.{module}

[fmim.studies]
my_study = my_package.study:STUDY
"""
PLAN_AND_TELL = """
import sys
from fmim.cli import main
sys.argv = ["fmim", "plan", "my_study", "--preset", "smoke"]
try:
    main()
except SystemExit as end:
    assert not end.code
from fmim_core.losses.base import LOSSES
from fmim_core.trial.cost import environment
print(environment()["my-package"], LOSSES.find("smooth_triplet").__module__)
"""


def install(folder: Path, module: str = "study") -> str:
    """A package as pip leaves it: its modules, and what is known of it; returns the folder for Python's path."""
    package, about = folder / "my_package", folder / "my_package-1.2.dist-info"
    package.mkdir(parents=True)
    about.mkdir()
    (package / "__init__.py").touch()
    shutil.move(my_study(folder), package / "study.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.2\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(ENTRY_POINTS.format(module=module), encoding="utf-8")
    return str(folder)


def test_its_studies_are_listed_and_planned_by_their_name(tmp_path: Path) -> None:
    path = install(tmp_path / "site")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([path, *sys.path]), "COLUMNS": "250"}
    command = [sys.executable, "-c", PLAN_AND_TELL]
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert "24 trials: 12 search, 4 change a setting" in told.stdout, told
    assert told.stdout.splitlines()[-1].split() == ["1.2", "my_package.study"], told.stderr


def test_one_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    path = install(tmp_path / "site", module="missing")
    done = fmim("plan", "lambda_sweep", "--preset", "smoke", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 2
    assert "my-package, entry point mine = my_package.missing, cannot be imported: ModuleNotFoundError" in done.stderr
