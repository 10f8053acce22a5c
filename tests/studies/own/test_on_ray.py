"""Ray's workers run a study's own files from their text, and find the same as this process does from the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_core.records import read_records
from tests.support.own_files import my_study
from tests.support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_code")]

IMPORTS = """import math
import os
from pathlib import Path
from typing import Literal

import my_scale
"""
TELL = """

with Path(os.environ["OWN_CODE_TELLS"]).open("a") as told:
    told.write(f"{__name__} {my_scale.__name__} {'from disk' if '__file__' in globals() else 'from text'}\\n")

BASELINE = Arm("""


def test_workers_have_the_text_alone(tmp_path: Path, fmim_here: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told.txt"
    monkeypatch.setenv("OWN_CODE_TELLS", str(told))
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (home / "my_scale.py").write_text("TAU = 0.05\n", encoding="utf-8")
    my_study(
        home,
        ("import math\nfrom typing import Literal\n", IMPORTS),
        ("\n\nBASELINE = Arm(", TELL),
        ("values=(0.1, 0.25, 0.5, 0.75)", "values=(0.25,)"),
        ("values=(0.05, 0.1)", "values=(my_scale.TAU,)"),
        ('baseline="triplet_grid"', 'baseline="triplet_grid", search=False'),
    )
    command = ("run", "../home/my_study.py", "--preset", "smoke", "--set", "epochs=1", "--replicates", "1")
    found = {}
    for backend in ("ray", "inline"):
        done = fmim_here(*command, "--backend", backend, "--out", backend, "--gpus-per-trial", "0", cwd=elsewhere)
        assert done.returncode == 0, done.stderr
        records = list(read_records(elsewhere / backend))
        found[backend] = {record.trial: (record.status, record.metrics) for record in records}
    assert found["ray"] == found["inline"]
    assert {status for status, _ in found["ray"].values()} == {"completed"}
    assert len(found["ray"]) == 2 + 3  # replicates, references
    lines = told.read_text(encoding="utf-8").splitlines()
    assert lines.count("my_study my_scale from disk") == 2  # this process, once a command
    assert lines.count("my_study my_scale from text") == len(lines) - 2 > 0
