"""`fmim new` writes a study that runs, its test that passes, and overwrites nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import fmim
from fmim.commands.studies import new
from fmim.declare.presets import SMOKE
from fmim.own.study_file import read_study_file
from fmim_core.losses.pml import PML
from fmim_core.records import StudyFile, read_records
from fmim_core.training.step import rehearse_loss
from tests.support.mini_study import NO_TRACKER
from tests.support.program import Program
from tests.support.reports import table

INLINE = ("--backend", "inline", "--gpus-per-trial", "0", "--tracking-uri", NO_TRACKER)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures", "own_code")
def test_what_it_writes_runs_in_smoke_as_it_stands_and_goes_on_only_unchanged(
    tmp_path: Path, fmim_here: Program
) -> None:
    said = fmim_here("new", "does_it_work", cwd=tmp_path).stdout
    assert said.split("\n")[:3] == [
        "wrote does_it_work.py",
        "wrote test_does_it_work.py",
        "try it: fmim run does_it_work.py --preset smoke",
    ]
    command = ("run", "does_it_work.py", "--preset", "smoke", *INLINE)
    assert fmim_here(*command, cwd=tmp_path).returncode == 0
    out = tmp_path / "runs" / "does_it_work"
    records = list(read_records(out))
    assert {record.status for record in records} == {"completed"}
    assert len(records) == (4 + 2) * 2 + 2 * 2 + 2 * 2 + 4  # searches, variations, replicates, references
    study, path = StudyFile.read(out / "study.json"), tmp_path / "does_it_work.py"
    assert study.code is not None
    assert [file.text for file in study.code.files] == [path.read_text(encoding="utf-8")]
    page = (out / "report" / "index.html").read_text(encoding="utf-8")
    assert f"does_it_work.py, SHA-256 {study.code.main.sha256}" in page
    (compared,) = table(out, "paired_differences")
    assert (compared["a"], compared["b"]) == ("smooth", "triplet_grid")
    path.write_text(path.read_text(encoding="utf-8") + "# a remark\n", encoding="utf-8")
    refused = fmim_here(*command, cwd=tmp_path)
    assert refused.returncode == 2
    assert f"; does_it_work.py was {study.code.main.sha256[:12]}, is " in refused.stderr
    assert [record.text for record in read_records(out)] == [record.text for record in records]
    path.unlink()  # its models need no more than the study's folder
    config = fmim.load_model(out, "smooth").config
    assert (type(config.loss).__module__, config.loss.kind) == ("does_it_work", "smooth_triplet")


@pytest.mark.usefixtures("own_code")
def test_the_test_that_it_writes_passes(tmp_path: Path, fmim_here: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    fmim_here("new", "my_study", cwd=tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    try:
        assert pytest.main(["-p", "no:cacheprovider", "-p", "no:terminal", "test_my_study.py"]) == 0
    finally:
        for module in ("my_study", "test_my_study"):
            sys.modules.pop(module, None)


@pytest.mark.usefixtures("own_code")
@pytest.mark.parametrize("loss", PML.library.names())
def test_it_writes_a_study_of_any_loss_of_the_library_whose_values_can_all_be_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    monkeypatch.chdir(tmp_path)
    new("of_library", loss)
    study = read_study_file(tmp_path / "of_library.py")
    grid, mine = study.arms
    assert (study.baseline, grid.budget, mine.loss) == (grid.name, 4, loss)
    assert mine.label == (f"{loss} + grid search" if mine.budget > 1 else loss)
    for configuration in mine.space.every_value():
        rehearse_loss(mine.train_config(SMOKE, configuration))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("My-Study", "'My-Study' cannot be a study's name: give a lower-case letter"),
        ("baselines", "'baselines' is a study of `fmim list`: choose another name, e.g. my_study"),
        ("there", "there.py would be overwritten: choose another name, or move it away first"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(
    tmp_path: Path, fmim_here: Program, name: str, said: str
) -> None:
    (tmp_path / "there.py").write_text("mine", encoding="utf-8")
    done = fmim_here("new", name, cwd=tmp_path)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [("there.py", "mine")]
