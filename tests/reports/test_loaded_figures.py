"""Figures of a loaded study on one's own axes: the report's numbers in the report's look."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure

import fmim
from fmim_core.records import record_path
from fmim_reports.drawing.plotting import NothingToDraw, render
from fmim_reports.loaded import StudyResults, load
from fmim_reports.parts.years import year_plot
from fmim_reports.writing.captions import source_line
from tests.support.factories import make_out
from tests.support.paths import ROOT
from tests.support.query_files import with_queries
from tests.support.reports import bands, lines

GUIDE = (ROOT / "reports" / "README.md").read_text(encoding="utf-8")
OTHER_LOOK = {"font.size": 20, "xtick.labelsize": 18, "ytick.color": "red", "axes.grid": False}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete study with comparisons, a search and queries."""
    arms = ["triplet_grid", "triplet_automargin", "adatriplet_grid", "adatriplet_automargin"]
    return with_queries(make_out(tmp_path_factory.mktemp("loaded") / "out", arms=arms))


@pytest.fixture(scope="module")
def results(out: Path) -> StudyResults:
    return load(out)


def numbers(axes: Axes) -> tuple[object, ...]:
    """What can be read back of a panel."""
    texts = [text.get_text() for text in axes.texts]
    images = [np.asarray(image.get_array()).tolist() for image in axes.images]
    return axes.get_title(loc="left"), axes.get_xlabel(), lines(axes), bands(axes), texts, images


def all_axes(part: Figure | SubFigure) -> list[Axes]:
    """The panels of a figure, or of a part of it with its own parts."""
    inner = [axes for inner in part.subfigs for axes in all_axes(inner)]
    return list(dict.fromkeys([*part.axes, *inner]))  # a whole figure has those of its parts already


@pytest.mark.slow
def test_every_figure_can_be_drawn_on_ones_own_axes(results: StudyResults) -> None:
    assert len(results.figures) == 9
    figure = Figure(figsize=(12, 12))
    mine = figure.subplots(3, 3)
    before = dict(matplotlib.rcParams)
    parts = {name: results.plot(name, axes) for name, axes in zip(results.figures, mine.flat, strict=False)}
    assert dict(matplotlib.rcParams) == before
    for name, part in parts.items():
        alone = results.plot(name)
        assert isinstance(alone, Figure)
        assert [numbers(axes) for axes in all_axes(part)] == [numbers(axes) for axes in all_axes(alone)]
        assert len(part.legends) == len(alone.legends)
    assert not set(mine.flat) & set(figure.axes)


def test_a_new_figure_is_the_reports_whatever_the_look_is_outside(results: StudyResults) -> None:
    with matplotlib.rc_context(OTHER_LOOK):
        figure, png = results.plot("map_by_year"), io.BytesIO()
        FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
    assert png.getvalue() == render(year_plot(results.results), source_line(results.results)).png


def test_ones_own_axes_keep_their_look(results: StudyResults) -> None:
    with matplotlib.rc_context(OTHER_LOOK):
        left, right = (figure := Figure(figsize=(12, 5))).subplots(1, 2)
        part = results.plot_learning_curves(right)
        left.plot([1, 2], label="mine")
        figure.draw_without_rendering()
        sizes = [{label.get_size() for label in axes.get_xticklabels()} for axes in (left, *part.axes)]
    assert sizes == [{18.0}, {7.0}, {7.0}]
    assert lines(left) == {"mine": {0.0: 1.0, 1.0: 2.0}}
    legend, *drawn = (one.get_tightbbox() for one in (*part.legends, *part.axes, left))
    assert not any(legend.overlaps(panel) for panel in drawn)  # it stands above the panels


def test_axes_without_a_place_are_refused(results: StudyResults) -> None:
    with pytest.raises(ValueError, match=r"no place of a grid.*plt\.subplots"):
        results.plot_years(Figure().add_axes((0.0, 0.0, 1.0, 1.0)))
    axes = Figure().subplots()
    results.plot_years(axes)
    with pytest.raises(ValueError, match="or another figure took it"):
        results.plot_years(axes)
    tight = Figure(layout="tight").subplots()
    with pytest.raises(ValueError, match="has the layout engine TightLayoutEngine"):
        results.plot_years(tight)
    assert tight.figure is not None  # still there


def test_a_figure_without_data_says_what_is_missing(out: Path, tmp_path: Path) -> None:
    empty = shutil.copytree(out, tmp_path / "out")
    shutil.move(record_path(empty, "").parent, tmp_path / "records")
    results = load(empty)
    reason = "no completed test replicate has queries by year yet"
    axes = Figure().subplots()
    with pytest.raises(NothingToDraw, match=reason):
        results.plot_years(axes)
    assert axes.figure is not None  # still there
    with pytest.raises(NothingToDraw, match=reason):
        results.plot("year")
    assert results.figures["year"] == f"not drawn: {reason}"
    with pytest.raises(ValueError, match=rf"no figure 'map_by_year'; .*not drawn yet: .*year \({reason}\)"):
        results.plot("map_by_year")


def test_the_guide_works_as_written(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(import matplotlib.*?)```", GUIDE, re.DOTALL)
    shutil.copytree(out, tmp_path / "runs" / "automargin_vs_grid")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fmim, "load", load, raising=False)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    names: dict[str, object] = {}
    exec(code, names)
    plt.close("all")
    assert (tmp_path / "mine.png").stat().st_size > 0
    assert len(names["means"]) == 4 * 6  # type: ignore[arg-type]
