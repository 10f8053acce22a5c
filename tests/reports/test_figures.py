"""Figures draw the numbers of the tables, read back from the artists; and a loaded study's stand on one's own axes."""

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
from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.drawing.rendering import render
from fmim_reports.loaded import StudyResults, load
from fmim_reports.parts.budget import budget_plot, curves
from fmim_reports.parts.costs import cost_plot
from fmim_reports.parts.years import year_plot
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, on_validation, query_times
from fmim_reports.studies.automargin_vs_grid import heat_plot
from fmim_reports.studies.hyperparameter_selection import selection_plot
from fmim_reports.writing.captions import source_line
from tests.support.factories import MARGINS, make_out
from tests.support.file_contents import spoil
from tests.support.paths import TASKS
from tests.support.query_files import with_queries
from tests.support.reports import bands, intervals, lines, panels

ARMS = ["triplet_grid", "triplet_automargin", "adatriplet_grid", "adatriplet_automargin"]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """A study with queries in which one configuration lacks a fold, another two, and a third all of them."""
    out = make_out(tmp_path_factory.mktemp("loaded") / "out", arms=ARMS)
    for number, folds in ((3, (1,)), (5, (0, 1)), (9, (0, 1, 2))):
        for fold in folds:
            spoil(out / "records" / f"adatriplet_grid.c{number:02d}.fold{fold}.json", "failed")
    return load(with_queries(out))


@pytest.fixture
def results(loaded: StudyResults) -> Results:
    return loaded.results


def test_the_lines_by_year_and_their_bands_are_those_of_the_tidy_table(loaded: StudyResults, results: Results) -> None:
    tidy = loaded.table("automargin_vs_grid").query("metric == 'mAP'")
    written = {(row.arm, row.year): (100 * row.mean, 100 * row.se) for row in tidy.itertuples(index=False)}
    for axes, group in zip(panels(year_plot(results)), ("triplet", "adatriplet"), strict=True):
        for band, search, label in zip(bands(axes), ("grid", "automargin"), ("Grid search", "AutoMargin"), strict=True):
            for x, year in enumerate(query_times(results)):
                mean, se = written[f"{group}_{search}", str(year)]
                assert lines(axes)[label][x] == pytest.approx(mean)
                assert band[x] == pytest.approx((mean - se, mean + se))


def test_the_points_by_cost_and_their_bars_are_those_of_the_cost_table(loaded: StudyResults, results: Results) -> None:
    rows = loaded.table("search_cost").to_dict("records")
    _, by_seconds = panels(cost_plot(results))
    drawn = [ends for bars in intervals(by_seconds) for ends in bars.items()]
    assert len(drawn) == len(rows) == len(ARMS)
    for (x, ends), row in zip(drawn, rows, strict=True):
        mean, se = 100 * row["test_mAP_mean"], 100 * row["test_mAP_se"]
        assert x == pytest.approx(row["device_seconds"])
        assert ends == pytest.approx((mean - se, mean + se))


def test_the_heat_map_has_the_mean_of_every_configuration(results: Results) -> None:
    grid, automargin, _ = panels(heat_plot(results))
    cells = grid.collections[0].get_array()
    for row, epsilon in enumerate(MARGINS):
        for column, beta in enumerate(MARGINS):
            stat = on_validation(results, "adatriplet_grid", {"epsilon": epsilon, "beta": beta}, "mAP").stat
            assert bool(np.ma.getmaskarray(cells)[row, column]) == (stat.n == 0)
            if stat.n:
                assert cells[row, column] == pytest.approx(100 * stat.mean)
    assert [label.get_text() for label in grid.get_yticklabels()] == [f"{value:g}" for value in MARGINS]
    assert grid.get_ylim() == (4, 0)  # the smallest on top
    assert automargin.collections[0].get_array().shape == (2, 2)


def test_the_selected_configurations_and_their_bars_are_those_of_validation(results: Results) -> None:
    (axes,) = panels(selection_plot(results))
    drawn = [(line.get_alpha(), np.asarray(line.get_data(), dtype=float)) for line in axes.lines]
    known = [(alpha, points[:, ~np.isnan(points).any(axis=0)]) for alpha, points in drawn]
    dots = [points for alpha, points in known if alpha is not None]
    assert [points.shape[1] for points in dots] == [4, 2, 15, 4]  # one of 16 has no fold
    assert [set(points[1]) for points in dots] == [{0}, {1}, {2}, {3}]
    markers = [container.lines[0].get_xdata()[0] for container in axes.containers]
    bars = [container.lines[2][0].get_segments()[0][:, 0] for container in axes.containers]
    for arm, marker, ends in zip(arm_summaries(results), markers, bars, strict=True):
        stat = arm.validation.stat
        assert marker == pytest.approx(100 * stat.mean)
        assert ends == pytest.approx([100 * (stat.mean - stat.se), 100 * (stat.mean + stat.se)])


def test_the_budget_curves_have_their_standard_deviation(results: Results) -> None:
    by_configurations = panels(budget_plot(results))[:2]
    drawn = [band for axes in by_configurations for band in bands(axes)]
    for band, curve in zip(drawn, curves(results), strict=True):
        assert band == pytest.approx(
            {
                float(b): pytest.approx((100 * (best - sd), 100 * (best + sd)))
                for b, (best, sd) in enumerate(curve.steps[["best", "sd"]].to_numpy(), 1)
            }
        )


GUIDE = (TASKS / "python.md").read_text(encoding="utf-8")
OTHER_LOOK = {"font.size": 20, "xtick.labelsize": 18, "ytick.color": "red", "axes.grid": False}


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
def test_every_figure_can_be_drawn_on_ones_own_axes(loaded: StudyResults) -> None:
    assert len(loaded.figures) == 12
    figure = Figure(figsize=(12, 16))
    mine = figure.subplots(4, 3)
    before, figures = dict(matplotlib.rcParams), plt.get_fignums()
    parts = {name: loaded.plot(name, axes) for name, axes in zip(loaded.figures, mine.flat, strict=False)}
    assert (dict(matplotlib.rcParams), plt.get_fignums()) == (before, figures)
    for name, part in parts.items():
        alone = loaded.plot(name)
        assert isinstance(alone, Figure)
        assert [numbers(axes) for axes in all_axes(part)] == [numbers(axes) for axes in all_axes(alone)]
        assert len(part.legends) == len(alone.legends)
    assert not set(mine.flat) & set(figure.axes)


def test_a_new_figure_is_the_reports_whatever_the_look_is_outside_and_ones_own_axes_keep_theirs(
    loaded: StudyResults, results: Results
) -> None:
    with matplotlib.rc_context(OTHER_LOOK):
        figure, png = loaded.plot("map_by_year"), io.BytesIO()
        FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
        assert png.getvalue() == render(year_plot(results), source_line(results)).files["png"]
        left, right = (figure := Figure(figsize=(12, 5))).subplots(1, 2)
        part = loaded.plot_learning_curves(right)
        left.plot([1, 2], label="mine")
        figure.draw_without_rendering()
        sizes = [{label.get_size() for label in axes.get_xticklabels()} for axes in (left, *part.axes)]
    assert sizes == [{18.0}, {7.0}, {7.0}]
    assert lines(left) == {"mine": {0.0: 1.0, 1.0: 2.0}}
    legend, *drawn = (one.get_tightbbox() for one in (*part.legends, *part.axes, left))
    assert not any(legend.overlaps(panel) for panel in drawn)  # it stands above the panels


def test_axes_without_a_place_are_refused(loaded: StudyResults) -> None:
    with pytest.raises(ValueError, match=r"plt\.subplots"):
        loaded.plot_years(Figure().add_axes((0.0, 0.0, 1.0, 1.0)))
    axes = Figure().subplots()
    loaded.plot_years(axes)
    with pytest.raises(ValueError, match="another figure"):
        loaded.plot_years(axes)
    tight = Figure(layout="tight").subplots()
    with pytest.raises(ValueError, match="has the layout engine TightLayoutEngine"):
        loaded.plot_years(tight)
    assert tight.figure is not None  # still there


def test_a_figure_without_data_says_what_is_missing(tmp_path: Path) -> None:
    empty = make_out(tmp_path / "out", arms=ARMS)
    shutil.rmtree(empty / "records")
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


def test_the_guide_works_as_written(results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(import matplotlib.*?)```", GUIDE, re.DOTALL)
    shutil.copytree(results.out, tmp_path / "runs" / "automargin_vs_grid")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fmim, "load", load, raising=False)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    names: dict[str, object] = {}
    exec(code, names)
    plt.close("all")
    assert (tmp_path / "mine.png").stat().st_size > 0
    assert len(names["means"]) == 4 * 6  # type: ignore[arg-type]
