"""A study's own files in the workers of a real cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_core.records import StudyFile, read_records
from tests.support.clusters import ALL_CORES
from tests.support.mini_study import NO_TRACKER
from tests.support.own_files import my_study
from tests.support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures", "own_code", "running")]

IMPORTS = """from pathlib import Path
from typing import Literal

import my_scale
"""
TELL = """

def tell():
    import my_late  # only while a trial is made

    told, data = Path({told!r}), Path(__file__).with_name("data.txt").read_text()
    with told.open("a") as lines:
        lines.write(f"{{my_scale.TAU}} {{my_late.X}} {{data}} {{'working_dirs' in Path.cwd().parts}}\\n")


Path(__file__).with_name("my_scale.py").write_text("TAU = 0.09\\n")  # edited as soon as it has been imported

BASELINE = Arm("""


def test_workers_run_the_text_that_is_recorded_of_a_studys_own_files(tmp_path: Path, fmim_here: Program) -> None:
    """A trial finds the same in a worker as in this process: late imports, and data beside the file.

    Tune would have it work in a folder of the trial's, where no relative path leads anywhere.
    """
    told, home = tmp_path / "told.txt", tmp_path / "home"
    home.mkdir()
    for name, text in (("data.txt", "beside"), ("my_late.py", "X = 'late'\n")):
        (home / name).write_text(text, encoding="utf-8")
    my_study(
        home,
        ("from typing import Literal\n", IMPORTS),
        ("\n\nBASELINE = Arm(", TELL.format(told=str(told))),
        ("        terms = ", "        tell()\n        terms = "),
        ("values=(0.1, 0.25, 0.5, 0.75)", "values=(0.25,)"),
        ("values=(0.05, 0.1)", "values=(my_scale.TAU,)"),
        ('baseline="triplet_grid"', 'baseline="triplet_grid", search=False'),
    )
    command = ("run", "my_study.py", "--preset", "smoke", "--set", "epochs=1", "--replicates", "1", *ALL_CORES)
    found, codes, seen = {}, [], []
    for backend in ("ray", "inline"):
        (home / "my_scale.py").write_text("TAU = 0.05\n", encoding="utf-8")
        given = ("--tracking-uri", NO_TRACKER, "--backend", backend, "--out", backend, "--gpus-per-trial", "0")
        done = fmim_here(*command, *given, cwd=home)
        assert done.returncode == 0, done.stderr
        found[backend] = {record.trial: (record.status, record.metrics) for record in read_records(home / backend)}
        codes.append(StudyFile.read(home / backend / "study.json").code)
        seen.append(told.read_text(encoding="utf-8").splitlines())
    assert found["ray"] == found["inline"]
    assert {status for status, _ in found["ray"].values()} == {"completed"}
    assert len(found["ray"]) == 2 + 3  # replicates, references
    assert len(seen[1]) > len(seen[0]) > 1
    assert {*seen[1]} == {"0.05 late beside False"}
    assert codes[0] == codes[1]
    assert codes[0] is not None
    assert [file.path for file in codes[0].files] == ["my_study.py", "my_late.py", "my_scale.py"]


def test_a_file_that_runs_here_and_not_in_a_worker_is_refused_before_anything_starts(
    tmp_path: Path, fmim_here: Program
) -> None:
    once = "from pathlib import Path\n\nPath(__file__).with_name('once').unlink()\nfrom typing import Literal\n"
    my_study(tmp_path, ("from typing import Literal\n", once))
    (tmp_path / "once").touch()
    done = fmim_here("run", "my_study.py", "--preset", "smoke", "--gpus-per-trial", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "my_study.py, line 12: FileNotFoundError: " in done.stderr, done.stderr
    assert not (tmp_path / "runs").exists()
