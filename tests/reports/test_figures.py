"""The numbers that figures draw are those of the tables, read back from the drawn artists."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PathCollection

from fmim_reports.drawing.plotting import render
from fmim_reports.parts.budget import budget_plot, curves
from fmim_reports.parts.costs import cost_plot
from fmim_reports.parts.years import year_plot
from fmim_reports.reading.results import Results, read_results
from fmim_reports.reading.summary import arm_summaries, on_validation, query_times
from fmim_reports.studies.automargin_vs_grid import heat_plot
from fmim_reports.studies.hyperparameter_selection import selection_plot
from tests.support.factories import MARGINS, make_out
from tests.support.file_contents import spoil
from tests.support.reports import bands, intervals, lines, panels, plots_of, tables_alone

ARMS = ["triplet_grid", "triplet_automargin", "adatriplet_grid", "adatriplet_automargin"]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A run in which one configuration lacks a fold, another two, and a third all of them."""
    out = make_out(tmp_path / "out", arms=ARMS)
    for number, folds in ((3, (1,)), (5, (0, 1)), (9, (0, 1, 2))):
        for fold in folds:
            spoil(out / "records" / f"adatriplet_grid.c{number:02d}.fold{fold}.json", "failed")
    return read_results(out)


def table(results: Results, name: str) -> list[dict[str, str]]:
    tables_alone(results.out)
    with (results.out / "report" / "tables" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_lines_by_year_and_their_bands_are_those_of_the_tidy_table(results: Results) -> None:
    written = {
        (row["arm"], row["year"]): (100 * float(row["mean"]), 100 * float(row["se"]))
        for row in table(results, "automargin_vs_grid")
        if row["metric"] == "mAP" and row["year"] != "all"
    }
    for axes, group in zip(panels(year_plot(results)), ("triplet", "adatriplet"), strict=True):
        for band, search, label in zip(bands(axes), ("grid", "automargin"), ("Grid search", "AutoMargin"), strict=True):
            for x, year in enumerate(query_times(results)):
                mean, se = written[f"{group}_{search}", str(year)]
                assert lines(axes)[label][x] == pytest.approx(mean)
                assert band[x] == pytest.approx((mean - se, mean + se))


def test_the_points_by_cost_and_their_bars_are_those_of_the_cost_table(results: Results) -> None:
    rows = table(results, "search_cost")
    _, by_seconds = panels(cost_plot(results))
    drawn = [ends for bars in intervals(by_seconds) for ends in bars.items()]
    assert len(drawn) == len(rows) == len(ARMS)
    for (x, ends), row in zip(drawn, rows, strict=True):
        mean, se = (100 * float(row[f"test_mAP{part}"]) for part in ("_mean", "_se"))
        assert x == pytest.approx(float(row["device_seconds"]))
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
    drawn = [(line.get_marker(), np.asarray(line.get_data(), dtype=float)) for line in axes.lines]
    known = [(marker, points[:, ~np.isnan(points).any(axis=0)]) for marker, points in drawn]
    dots = [np.asarray(points.get_offsets()) for points in axes.collections if isinstance(points, PathCollection)]
    assert [len(points) for points in dots] == [4, 2, 15, 4]  # one of 16 has no fold
    assert [set(points[:, 1]) for points in dots] == [{0}, {1}, {2}, {3}]
    markers = [points[0, 0] for marker, points in known if marker == "D" and points.size]
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


def test_no_figure_draws_at_random_or_is_left_open(results: Results) -> None:
    built, before = [], pyplot.get_fignums()  # of other tests
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002 - the generator that anything at random would draw from
        drawings = [render(plot, "data") for plot in plots_of(results)]
        built.append([(drawing.png, drawing.svg) for drawing in drawings])
    assert built[0] == built[1]
    assert len(built[0]) >= 6
    assert pyplot.get_fignums() == before
