"""The notebook runs as it stands, and its stored outputs are those of a run."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import fmim
from tests.support.paths import ROOT

NOTEBOOK = ROOT / "studies" / "example.ipynb"


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
    assert len(results.trials) == 4 * 2 + 2 * 3 + 5  # searches, replicates, references


def test_the_stored_notebook_holds_no_place_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert [word for word in ("/home/", "/tmp/", "/root/", "Traceback") if word in text] == []
