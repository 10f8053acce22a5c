"""The program as a user starts it: exit codes, messages, and that bad input starts nothing."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from fmim.commands.options import Options
from tests.support.program import Program


def manifest(folder: Path, subjects: int, visits: int = 3, bad_image: bool = False, **columns: str) -> Path:
    """A manifest of random images at months 0, 12, 24 …"""
    rng = np.random.default_rng(0)
    rows = []
    for subject in range(subjects):
        for visit in range(visits):
            name = f"{subject}_{visit}.png"
            Image.fromarray(rng.integers(0, 256, (40, 40), dtype=np.uint8)).save(folder / name)
            rows.append({"image": name, "subject": f"s{subject}", "months": 12 * visit, **columns})
    if bad_image:
        (folder / "0_1.png").write_bytes(b"not an image")
    path = folder / "manifest.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["automargin"], "no command or study 'automargin'; the studies are automargin_ablation, automargin_vs_grid"),
        (
            ["automargin_vs_grid", "--preset", "tiny"],
            "unknown preset 'tiny'; study 'automargin_vs_grid' has smoke, quick",
        ),
        (["automargin_vs_grid", "--data", "missing.csv"], "no such file: missing.csv"),
        (["automargin_vs_grid", "--epochs", "0"], "--epochs"),
        (["automargin_vs_grid", "--espilon", "0.1"], "--espilon"),
        (["automargin_vs_grid", "--backend", "slurm"], "slurm"),
        (["automargin_vs_grid", "--tracking-uri", "./mlruns"], "not in a folder"),
        (["automargin_vs_grid", "--backend", "inline", "--address", "auto"], "--address names a Ray cluster"),
        (["automargin_vs_grid", "--data", "x.csv", "--cohort", "1"], "--cohort draws phantoms, but --data is x.csv"),
        (["report", "nowhere"], "no such folder: nowhere. Give the folder of a study"),
    ],
)
def test_bad_usage_exits_with_2_and_starts_nothing(
    arguments: list[str], message: str, tmp_path: Path, fmim_here: Program
) -> None:
    done = fmim_here(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_bad_input_and_named(tmp_path: Path, fmim_here: Program) -> None:
    (tmp_path / "file").write_text("no folder")
    options = ("--preset", "smoke", "--backend", "inline", "--gpus-per-trial", "0", "--out", "file/study")
    done = fmim_here("automargin_vs_grid", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert "/file is a file: give another folder" in done.stderr
    assert "safe" not in done.stderr
    assert "file/study" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: manifest(folder, 40, bad_image=True), "0_1.png"),
        (lambda folder: manifest(folder, 6), "training subjects, but each batch needs 8"),
        (lambda folder: manifest(folder, 40, visits=1), "test"),
        (lambda folder: manifest(folder, 40, split="val"), "split"),
        (lambda folder: (manifest(folder, 3), (folder / "manifest.csv").write_text("image;subject\n"))[0], "months"),
    ],
)
def test_a_data_set_that_cannot_be_used_exits_with_2_before_any_trial(
    make, message: str, tmp_path: Path, fmim_here: Program
) -> None:
    path = make(tmp_path)
    done = fmim_here(
        "automargin_vs_grid", "--preset", "smoke", "--data", path.name, "--backend", "inline", cwd=tmp_path
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("records/*.json"))


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("backend", ["ray", "inline"])
def test_asking_for_a_gpu_that_is_not_there_fails_at_once(backend: str, tmp_path: Path, fmim_here: Program) -> None:
    """Ray itself was still waiting for one after 120 s."""
    begun = time.monotonic()
    done = fmim_here(
        "automargin_vs_grid", "--preset", "smoke", "--gpus-per-trial", 0.5, "--backend", backend, cwd=tmp_path
    )
    assert time.monotonic() - begun < 30
    assert done.returncode == 2
    assert "0.5" in done.stderr
    assert "GPU" in done.stderr
    assert not list(tmp_path.rglob("records/*.json"))


@pytest.mark.slow
def test_plan_and_dry_run_print_the_trials_and_start_nothing(tmp_path: Path, fmim_here: Program) -> None:
    dry = fmim_here("automargin_vs_grid", "--dry-run", "--replicates", 4, cwd=tmp_path)
    plan = fmim_here("plan", "automargin_vs_grid", "--replicates", 4, cwd=tmp_path)
    assert (dry.returncode, plan.returncode) == (0, 0)
    assert dry.stdout == plan.stdout
    assert "158 trials: 108 in the search, 44 replicates and 6 trials of 3 references" in dry.stdout
    assert list(tmp_path.iterdir()) == []


def test_list_names_every_study(tmp_path: Path, fmim_here: Program) -> None:
    done = fmim_here("list", cwd=tmp_path)
    assert done.returncode == 0
    assert "automargin_vs_grid" in done.stdout


def test_the_console_script_is_the_same_program(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("fmim")
    done = subprocess.run(
        [script, "automargin_vs_grid", "--preset", "no"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "unknown preset 'no'" in done.stderr


@pytest.mark.slow
def test_a_manifest_runs_from_any_folder(tmp_path: Path, fmim_here: Program) -> None:
    """A relative path from here, the whole path from elsewhere: same plan, same sizes."""
    data = tmp_path / "data"
    data.mkdir()
    path = manifest(data, 48)
    here = fmim_here("plan", "automargin_vs_grid", "--preset", "smoke", "--data", "manifest.csv", cwd=data)
    elsewhere = fmim_here("plan", "automargin_vs_grid", "--preset", "smoke", "--data", path, cwd=tmp_path)
    by_root = fmim_here(
        "plan", "automargin_vs_grid", "--preset", "smoke", "--data", "manifest.csv", "--data-root", data, cwd=tmp_path
    )
    assert here.returncode == 0, here.stderr
    assert here.stdout == elsewhere.stdout == by_root.stdout
    assert "144 images of 48 subjects" in here.stdout


def test_a_cohort_is_another_draw_of_the_presets_phantoms() -> None:
    first, other = (Options(study="automargin_vs_grid", cohort=cohort).declared()[1].phantom for cohort in (None, 3))
    assert other == first.model_copy(update={"seed": 3})
    assert first.seed == 0
