"""What is wrong on the command line is named, with the name most like it; exit code 2, and nothing is started."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import torch

from fmim_core.suggestions import did_you_mean_path
from tests.support.factories import make_out
from tests.support.manifests import folder_of
from tests.support.program import Program

STUDY = "automargin_vs_grid"


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["statsu", "runs/x"], ["no command or study 'statsu'; the studies are auto", "my_study.py", "'status'"]),
        (["backbone"], ["Did you mean 'backbones'?"]),
        (["plan", "backbone"], ["unknown study 'backbone'; there are automargin_ablation, "]),
        (["data", "chek", "phantom"], ["Did you mean 'check'?"]),
        ([STUDY, "--preset", "quik"], ["has smoke, quick, full, paper. Did you mean 'quick'?"]),
        (["data", "describe", "phantom", "--preset", "quik"], ["smoke, quick, full, paper. Did you mean 'quick'?"]),
        ([STUDY, "--data", "cxr/manifst.csv"], ["no such file: cxr/manifst.csv. Did you mean 'cxr/manifest.csv'?"]),
        ([STUDY, "--data", "phantm"], ["a manifest (a CSV file). Did you mean 'phantom'?"]),
        ([STUDY, "--data", "pipe"], ["--data pipe is a pipe or a device"]),
        ([STUDY, "--data", "cxr"], ["--data cxr is a folder", "one of phantom, "]),
        (["run", "my_studi.py"], ["no such file: my_studi.py. Did you mean 'my_study.py'?"]),
        (["run", "other.py"], ["no such file: other.py. `fmim new other` writes one"]),
        (["status", "runs/min"], ["no such folder: runs/min. Did you mean 'runs/mine'?"]),
        (["report", "runs"], ["it has no study.json", "there are runs/mine"]),
        (["report", "nowhere"], ["no such folder: nowhere"]),
        (["ui", "cxr"], ["cxr is not a study's folder"]),
        (["status", "runs/mine", "--watch", "--json"], ["--watch"]),
        (["plan", STUDY, "--calibrate", "--json"], ["--calibrate"]),
        ([STUDY, "--epochs", "0"], ["--epochs"]),
        ([STUDY, "--espilon", "0.1"], ["--espilon"]),
        ([STUDY, "--backend", "slurm"], ["slurm"]),
        ([STUDY, "--tracking-uri", "./mlruns"], ["not in a folder"]),
        ([STUDY, "--backend", "inline", "--address", "auto"], ["--address names a Ray cluster"]),
        ([STUDY, "--data", "x.csv", "--cohort", "1"], ["--cohort draws phantoms, but --data is x.csv"]),
        ([STUDY, "--data", "x.csv", "--set", "phantom.ageing=2"], ["--set phantom.ageing", "--data is x.csv"]),
        ([STUDY, "--out", "my_study.py/study"], ["/my_study.py is a file", "my_study.py/study"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_what_is_like_it(
    arguments: list[str], messages: list[str], fmim_here: Program, tmp_path: Path
) -> None:
    make_out(tmp_path / "runs" / "mine", arms=["triplet_q1"], replicates=1)
    (tmp_path / "cxr").mkdir()
    (tmp_path / "cxr" / "manifest.csv").touch()
    (tmp_path / "my_study.py").touch()
    os.mkfifo(tmp_path / "pipe")
    before = set(tmp_path.rglob("*"))
    done = fmim_here(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert [message for message in messages if message not in done.stderr] == [], done.stderr
    assert set(tmp_path.rglob("*")) == before


def rows(subjects: int, visits: int = 3, split: str = "") -> list[str]:
    ends = f",{split}" if split else ""
    return [f"{s}_{visit}.png,s{s},{12 * visit}{ends}" for s in range(subjects) for visit in range(visits)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "bad", "message"),
    [
        (rows(40), "0_1.png", "0_1.png"),
        (rows(6), "", "training subjects, but each batch needs 8"),
        (rows(40, visits=1), "", "test"),
        (rows(40, split="val"), "", "split"),
        (rows(3), "manifest.csv", "months"),
    ],
)
def test_a_data_set_that_cannot_be_used_is_refused_before_any_trial(
    lines: list[str], bad: str, message: str, tmp_path: Path, fmim_here: Program
) -> None:
    columns = ("image", "subject", "months", "split")[: 1 + lines[0].count(",")]
    folder_of(tmp_path, lines, ",".join(columns))
    if bad:
        (tmp_path / bad).write_text("image;subject\n")
    done = fmim_here(STUDY, "--preset", "smoke", "--data", "manifest.csv", "--backend", "inline", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("records/*.json"))


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("backend", ["ray", "inline"])
def test_a_gpu_that_is_not_there_is_refused_at_once(backend: str, tmp_path: Path, fmim_here: Program) -> None:
    """Ray itself was still waiting for one after 120 s."""
    begun = time.monotonic()
    done = fmim_here(STUDY, "--preset", "smoke", "--gpus-per-trial", 0.5, "--backend", backend, cwd=tmp_path)
    assert time.monotonic() - begun < 30
    assert done.returncode == 2
    assert "0.5" in done.stderr
    assert "GPU" in done.stderr
    assert not list(tmp_path.rglob("records/*.json"))


def test_a_path_is_compared_folder_by_folder(tmp_path: Path) -> None:
    (tmp_path / "images" / "knees").mkdir(parents=True)
    (tmp_path / "images" / "knees" / "table.csv").touch()
    wrong = tmp_path / "imges" / "knes" / "tabel.csv"
    assert did_you_mean_path(wrong) == f". Did you mean {str(tmp_path / 'images' / 'knees' / 'table.csv')!r}?"
    assert did_you_mean_path(tmp_path / "images" / "zzz.csv") == ""
    assert did_you_mean_path(tmp_path / "images" / "knees" / "table.csv" / "more") == ""
    assert did_you_mean_path(tmp_path / "images") == ""
