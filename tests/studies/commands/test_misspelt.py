"""What is misspelt on the command line is named, with the one that is most like it; nothing is started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fmim_core.suggestions import did_you_mean_path
from tests.support.factories import make_out
from tests.support.program import Program

STUDY = "automargin_vs_grid"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["statsu", "runs/x"], "no command or study 'statsu'; the studies are automargin_ablation, "),
        (["statsu", "runs/x"], "or a file of your own, such as my_study.py. Did you mean 'status'?"),
        (["backbone"], "Did you mean 'backbones'?"),
        (["plan", "backbone"], "unknown study 'backbone'; there are automargin_ablation, "),
        (["data", "chek", "phantom"], "Did you mean 'check'?"),
        ([STUDY, "--preset", "quik"], "has smoke, quick, full, paper. Did you mean 'quick'?"),
        (
            ["data", "describe", "phantom", "--preset", "quik"],
            "there are smoke, quick, full, paper. Did you mean 'quick'?",
        ),
        ([STUDY, "--data", "cxr/manifst.csv"], "no such file: cxr/manifst.csv. Did you mean 'cxr/manifest.csv'?"),
        ([STUDY, "--data", "phantm"], "or the path of a manifest (a CSV file). Did you mean 'phantom'?"),
        ([STUDY, "--data", "pipe"], "--data pipe is a pipe or a device, which cannot be read twice: give the path of"),
        (
            [STUDY, "--data", "cxr"],
            "--data cxr is a folder: give the path of a manifest (a CSV file), or one of ph",
        ),
        (["run", "my_studi.py"], "no such file: my_studi.py. Did you mean 'my_study.py'?"),
        (["run", "other.py"], "no such file: other.py. `fmim new other` writes one to begin with"),
        (["status", "runs/min"], "no such folder: runs/min. Did you mean 'runs/mine'?"),
        (["report", "runs"], "it has no study.json. Give the folder of a study; there are runs/mine"),
        (["ui", "cxr"], "cxr is not a study's folder: it has no study.json. Give the folder of a study, e.g. runs/"),
        (["status", "runs/mine", "--watch", "--json"], "--watch again and again: leave one of them out"),
        (["plan", STUDY, "--calibrate", "--json"], "--json prints the plan: leave one of them out"),
    ],
)
def test_what_is_misspelt_is_named_with_what_is_like_it(
    arguments: list[str], message: str, fmim_here: Program, tmp_path: Path
) -> None:
    make_out(tmp_path / "runs" / "mine", arms=["triplet_q1"], replicates=1)
    (tmp_path / "cxr").mkdir()
    (tmp_path / "cxr" / "manifest.csv").touch()
    (tmp_path / "my_study.py").touch()
    os.mkfifo(tmp_path / "pipe")
    done = fmim_here(*arguments, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_a_path_is_compared_folder_by_folder(tmp_path: Path) -> None:
    (tmp_path / "images" / "knees").mkdir(parents=True)
    (tmp_path / "images" / "knees" / "table.csv").touch()
    wrong = tmp_path / "imges" / "knes" / "tabel.csv"
    assert did_you_mean_path(wrong) == f". Did you mean {str(tmp_path / 'images' / 'knees' / 'table.csv')!r}?"
    assert did_you_mean_path(tmp_path / "images" / "zzz.csv") == ""
    assert did_you_mean_path(tmp_path / "images" / "knees" / "table.csv" / "more") == ""
    assert did_you_mean_path(tmp_path / "images") == ""
