"""The README's main job on the smoke preset."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from fmim_core.records import read_records
from tests.support.mini_study import NO_TRACKER
from tests.support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]
MAIN_JOB = "automargin_vs_grid"
INLINE = ("--backend", "inline", "--gpus-per-trial", 0, "--tracking-uri", NO_TRACKER)


def test_the_main_job_runs_whole_with_the_papers_costs(tmp_path: Path, fmim_here: Program) -> None:
    short = ("--preset", "smoke", "--epochs", 1, "--replicates", 1, "--set", "phantom.train_subjects=16")
    done = fmim_here(MAIN_JOB, *short, *INLINE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "runs" / MAIN_JOB
    assert Counter((record.stage, record.status) for record in read_records(out)) == {
        ("search", "completed"): 72,
        ("replicate", "completed"): 11,
        ("reference", "completed"): 3,
    }
    with (out / "report" / "tables" / "search_cost.csv").open() as file:
        costs = [(row["n_s"], row["trials"], row["test_n"]) for row in csv.DictReader(file)]
    n_s = (1, 1, 4, 4, 2, 1, 1, 1, 16, 4, 1)
    assert costs == [(str(n), str(2 * n), "1") for n in n_s]
