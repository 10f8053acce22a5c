"""The README's main job on the smoke preset, and the same command on real radiographs."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from fmim_core.records import StudyFile, read_records
from tests.support.paths import NIH_MANIFEST, needs_nih
from tests.support.program import fmim

pytestmark = pytest.mark.slow
MAIN_JOB = "automargin_vs_grid"


def test_the_main_job_runs_whole_with_the_papers_costs(tmp_path: Path) -> None:
    done = fmim(MAIN_JOB, "--preset", "smoke", "--epochs", 1, "--backend", "inline", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "runs" / MAIN_JOB
    assert Counter((record.stage, record.status) for record in read_records(out)) == {
        ("search", "completed"): 72,
        ("replicate", "completed"): 22,
        ("reference", "completed"): 4,
    }
    with (out / "report" / "tables" / "search_cost.csv").open() as file:
        costs = [(row["n_s"], row["trials"], row["test_n"]) for row in csv.DictReader(file)]
    n_s = (1, 1, 4, 4, 2, 1, 1, 1, 16, 4, 1)
    assert costs == [(str(n), str(2 * n), "2") for n in n_s]


@needs_nih
def test_real_radiographs_run_and_are_reported_honestly(tmp_path: Path) -> None:
    """The smoke preset on real ChestX-ray14 images: queries without a match are counted and left out."""
    done = fmim(
        "lambda_sweep", "--preset", "smoke", "--data", NIH_MANIFEST, "--epochs", 1, "--backend", "inline", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    out = tmp_path / "runs" / "lambda_sweep"
    test = next(record for record in read_records(out) if record.stage == "replicate").metrics.test
    assert test["queries"] + test["queries_without_match"] == StudyFile.read(out / "study.json").data.test.queries
    page = (out / "report" / "index.html").read_text(encoding="utf-8")
    assert "synthetic, not radiographs" not in page
    assert "15 subjects" in page
