"""Names that are markup, formulas or commands somewhere: in every output they are text, and nothing of them runs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from playwright.sync_api import Browser

from fmim.printing import TextConsole
from fmim.terminal.status import StudyStatus
from fmim_core.records import without_controls
from fmim_reports.build import build_report
from fmim_reports.drawing.plotting import Plot, drawn
from fmim_reports.writing.formats import to_figure, to_md, to_tex
from fmim_reports.writing.tables import Column, Table, in_csv, to_csv
from tests.support.browser import visited
from tests.support.factories import make_out
from tests.support.file_contents import edit, record, spoil, write
from tests.support.program import Program
from tests.support.query_files import with_queries
from tests.support.reports import elements

RUNS = "document.title='it ran'"
NASTY = (
    f'<script>{RUNS}</script>"><img src=x onerror="{RUNS}">--><svg onload="{RUNS}"> \\input{{/etc/passwd}}'
    " \\write18{id} $\\frac$ 5 % & #_^~ [red]x[/] `a` \\|b| **c** \x1b]0;t\x07\x1b[31m\rz \u202egnp _d_ \ud800"
)
STARTS = ("=1+", "[", "_", "*", "-")


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study in which every name that is free text is nasty, with its report."""
    folder = tmp_path_factory.mktemp("nasty") / "[red] $x$ & 'a' [/]"
    out = with_queries(make_out(folder, arms=("triplet_grid", "triplet_automargin"), folds=2, replicates=2))
    study = json.loads((out / "study.json").read_text(encoding="utf-8"))
    texts = ("label", "loss", "group", "search", "note")
    arms = [
        arm | {text: f"{start}{NASTY}{number}" for text, start in zip(texts, STARTS, strict=True)}
        for number, arm in enumerate(study["arms"])
    ]
    about = {"synthetic": False, "name": NASTY, "about": NASTY, "release": NASTY, "warnings": [f"={NASTY}"]}
    study |= {"title": NASTY, "question": NASTY, "arms": arms, "data": study["data"] | about}
    write(out / "study.json", study | {"environment": {NASTY: NASTY}})
    spoil(record(out, "triplet_grid.c00.fold0"), "failed", f"={NASTY}")
    edit(record(out, "triplet_grid.c01.fold0"), warnings=[f"@{NASTY}"])
    build_report(out)
    return out


@pytest.mark.slow
def test_nothing_of_a_name_is_more_than_text_in_the_report(nasty: Path) -> None:
    page = nasty / "report" / "index.html"
    text = page.read_text(encoding="utf-8")
    found = elements(text)
    assert [tag for tag, _ in found].count("script") == 1  # the page's own
    assert not [name for _, given in found for name in given if name.startswith("on")]
    assert "&lt;script&gt;document.title=" in text
    for path in (nasty / "report").rglob("*"):
        if path.suffix in (".html", ".md", ".csv", ".tex", ".svg"):
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", path.read_text(encoding="utf-8")), path


@pytest.mark.slow
def test_nothing_of_a_name_runs_in_a_browser(browser: Browser, nasty: Path) -> None:
    with visited(browser, (nasty / "report" / "index.html").as_uri()) as visit:
        assert visit.page.title() != "it ran"
        assert visit.page.locator("figure").count() >= 5
        assert visit.errors == []


@pytest.mark.slow
def test_tables_of_nasty_names_are_tables(nasty: Path) -> None:
    for path in (nasty / "report" / "tables").glob("*.csv"):
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
        assert {len(row) for row in rows} == {len(rows[0])}
        for cell in (cell for row in rows for cell in row):
            assert not cell.startswith(("=", "+", "@", "\t")), path
            assert not cell.startswith("-") or float(cell) < 0
    for path in (nasty / "report" / "tables").glob("*.tex"):
        body = path.read_text(encoding="utf-8").split("\n", 1)[1]
        assert not re.search(r"\\(input|write|frac)\b", body)
        assert not re.search(r"(\\\\|rule)\s*[\[*]", body)
        bare = re.sub(r"\\[\\&%$#_{}]", "", body)
        assert bare.count("{") == bare.count("}")
    for path in [*(nasty / "report" / "tables").glob("*.md"), nasty / "report" / "report.md"]:
        plain = re.sub(r"\\\\|\\[|<>*`\[\]~$&_]", "", path.read_text(encoding="utf-8"))
        assert "<script" not in plain
        assert "<img" not in plain
        rows = [line for line in plain.splitlines() if line.startswith("| ")]
        assert all(line.endswith(" |") for line in rows)


def test_a_terminal_shows_names_as_they_are(fmim_here: Program, tmp_path: Path) -> None:
    out = make_out(tmp_path / "out [/] [red]", arms=("triplet_grid",), folds=2, replicates=1)
    arm = json.loads((out / "study.json").read_text())["arms"][0]
    edit(out / "study.json", arms=[arm | {"label": "[/] \x1b[31m[red]x[/]"}])
    console = TextConsole(file=io.StringIO(), width=200, force_terminal=True)
    console.show(StudyStatus(out).shown)
    assert "\n[/] �[31m[red]x[/]" in console.file.getvalue()  # type: ignore[attr-defined]
    study = "from fmim import catalogue\nSTUDY = catalogue.find('margin_sensitivity').model_copy(update="
    study += "{'name': 'nasty', 'question': '[/] [bold]\\x1b[2J'})\n"
    (tmp_path / "nasty.py").write_text(study)
    done = fmim_here("list", "nasty.py", cwd=tmp_path)
    assert done.stderr == ""
    assert (done.returncode, "[/] [bold]�[2J" in done.stdout) == (0, True)


def test_names_beside_ticks_are_no_formulas() -> None:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_yticks([0, 1], ["$\\frac$ a", "$N_s$"])
        axes.plot([0, 1], [0, 1], label="$\\frac$ b")
        axes.legend()

    figure = drawn(Plot("p", "", "", "", 2.0, draw), "data: $\\frac$ c")
    FigureCanvasAgg(figure).draw()
    shown = {text.get_text() for text in figure.findobj(Text)}
    assert {r"\$\frac\$ a", "$N_s$", r"\$\frac\$ b", r"data: \$\frac\$ c"} <= shown


def test_each_form_of_a_text_is_inert() -> None:
    assert without_controls("a\tb\nc\x1b\r\u202e\ud800é膝") == "a\tb\nc����é膝"
    assert [in_csv(value) for value in ("=1", "+1", "-1", "@a", "\t", "＝1", "a=1", "")] == [
        *("'=1", "'+1", "'-1", "'@a", "'\t", "'＝1", "a=1", "")
    ]
    assert [in_csv(value) for value in (-0.5, -1, None, True)] == [-0.5, -1, None, True]
    numbers = Table("t", "", "", [Column("=x", "X", "points"), Column("y", "Y")], [{"=x": -0.5, "y": "-0.5"}])
    assert to_csv(numbers) == "'=x,y\n-0.5,'-0.5\n"
    assert (to_tex("[a]"), to_tex("*"), to_tex("a[b]")) == ("{}[a]", "{}*", "a[b]")
    assert to_md("\\<a> _b_ c_d $x$") == r"\\\<a\> \_b\_ c_d \$x\$"
    assert to_figure("$x$ $N_s$ $φ_{an} = β$ 5 $") == r"\$x\$ $N_s$ $φ_{an} = β$ 5 \$"
    assert to_figure(to_figure("$x$")) == to_figure("$x$")
    assert to_figure("x" * 99) == f"{'x' * 69}…"
