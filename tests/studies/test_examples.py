"""The README's main job on the smoke preset, and the notebook, which runs as it stands."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import fmim
from fmim_core.records import read_records
from tests.support.mini_study import NO_TRACKER
from tests.support.paths import ROOT
from tests.support.program import Program

NOTEBOOK = ROOT / "studies" / "example.ipynb"
MAIN_JOB = "automargin_vs_grid"
INLINE = ("--backend", "inline", "--gpus-per-trial", 0, "--tracking-uri", NO_TRACKER)


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_main_job_runs_whole_with_the_papers_costs(tmp_path: Path, fmim_here: Program) -> None:
    short = ("--preset", "smoke", "--epochs", 1, "--replicates", 1, "--set", "phantom.train_subjects=16")
    done = fmim_here(MAIN_JOB, *short, *INLINE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "runs" / MAIN_JOB
    assert Counter((record.stage, record.status) for record in read_records(out)) == {
        ("search", "completed"): 72,
        ("variation", "completed"): 12,
        ("replicate", "completed"): 11,
        ("reference", "completed"): 3,
    }
    with (out / "report" / "tables" / "search_cost.csv").open() as file:
        costs = [(row["n_s"], row["trials"], row["test_n"]) for row in csv.DictReader(file)]
    n_s = (1, 1, 4, 4, 2, 1, 1, 1, 16, 4, 1)
    assert costs == [(str(n), str(2 * n), "1") for n in n_s]


def printed(notebook: nbformat.NotebookNode) -> str:
    """What its last cell prints."""
    return "".join(output["text"] for output in notebook.cells[-1].outputs if output.get("name") == "stdout")


@pytest.mark.slow
def test_the_notebook_runs_and_concludes_from_its_results(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    stored = printed(notebook)
    assert stored.startswith("automargin − grid: ")
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    results = fmim.load(tmp_path / "runs" / "notebook")
    difference = 100 * results.table("paired_differences")["difference"].iloc[0]
    lines = printed(notebook).splitlines()
    assert lines[0].startswith(f"automargin − grid: {difference:+.1f} points of mAP, 95 % CI [")
    assert lines[1] == stored.splitlines()[1] == "configurations trained: {'grid': 3, 'automargin': 1}"
    assert set(results.trials["status"]) == {"completed"}
    assert len(results.trials) == 4 * 2 + 2 * 2 + 2 * 3 + 5  # searches, variations, replicates, references


def test_the_stored_notebook_holds_no_place_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert [word for word in ("/home/", "/tmp/", "/root/", "Traceback") if word in text] == []
