"""`fmim compare` as a user meets it: 80 columns, JSON, a page, and errors that say what to do."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from fmim.printing import TextConsole
from fmim.terminal.comparison import show_comparison
from fmim_reports.across.differences import differences
from fmim_reports.across.studies import read_studies
from tests.support.factories import make_out
from tests.support.file_contents import edit
from tests.support.program import Program

ARMS = ["adatriplet_grid", "adatriplet_automargin"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two studies that differ in seeds, one on other data, and none."""
    runs = tmp_path_factory.mktemp("runs")
    for name, synthetic in (("quick", True), ("quick_again", True), ("real", False)):
        make_out(runs / name, folds=1, replicates=5, arms=ARMS, synthetic=synthetic)
    edit(runs / "quick_again" / "study.json", seed=1)
    for path in (runs / "quick_again" / "records").glob("*.json"):
        edit(path, seed=json.loads(path.read_text(encoding="utf-8"))["seed"] + 100)
    edit(runs / "real" / "study.json", title="[bold]Real[/]", preset="paper")
    (runs / "empty").mkdir()
    return runs


def test_the_terminal_shows_all_within_80_columns(runs: Path) -> None:
    studies = read_studies([runs / name for name in ("quick", "quick_again", "real")])
    said = io.StringIO()
    show_comparison(
        studies, differences(studies), TextConsole(file=said, width=80, force_terminal=True, color_system=None)
    )
    lines = [line.rstrip() for line in said.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80
    cells = [" ".join(line.split()) for line in lines]
    assert "study: seed 0 1 0" in cells
    assert "study: preset quick quick paper" in cells
    assert "A ε = 0.5, β = 0.5 16 3 min 12 s 79.00 ± n/a 75.00 ± 0.71 (5)" in cells
    assert "B − A, not paired, because seeds differ, over 5 and 5 seeds" in cells
    assert "AdaTriplet + grid search +0.00 −2.31 to +2.31 1.000 inconclusive" in cells
    assert "C − A is not given: the test set is that of oai, not of phantom." in cells


def test_json_stands_alone_on_standard_output_and_the_page_beside_it(
    runs: Path, tmp_path: Path, fmim_here: Program
) -> None:
    done = fmim_here("compare", "quick", "real", "--json", "--out", tmp_path / "page", cwd=runs)
    assert (done.returncode, json.loads(done.stdout)["studies"]["B"]["folder"]) == (0, "real")
    assert done.stderr.strip() == f"page: {tmp_path / 'page' / 'index.html'}"
    files = {path.name for path in (tmp_path / "page" / "tables").iterdir()}
    assert files == {f"{n}.{e}" for n in ("studies", "settings", "arms", "differences") for e in ("csv", "md", "tex")}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["quick"], "a comparison needs at least two studies: give two or more folders, e.g. runs/a runs/b"),
        (["quick", "./quick"], "quick is given twice: give each study once"),
        (["quick", "reel"], "no such folder: reel. Did you mean 'real'?"),
        (["quick", "empty"], "empty is not a study's folder: it has no study.json"),
        (["quick", "real", "--out", "."], "--out . exists and is not overwritten"),
    ],
)
def test_what_cannot_be_compared_is_named(runs: Path, fmim_here: Program, arguments: list[str], says: str) -> None:
    done = fmim_here("compare", *arguments, cwd=runs)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {says}")
