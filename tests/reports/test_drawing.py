"""Lines of means and the scale of an axis: what is not a number is a gap, and no arm is left out without a word."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.drawing.axes import RULE, Extent, Mark, scale_of, scale_x, scale_y
from fmim_reports.drawing.lines import draw_line, mean_points
from fmim_reports.drawing.plotting import FONT, Plot, drawn
from fmim_reports.drawing.rendering import render
from fmim_reports.parts.costs import cost_plot
from fmim_reports.parts.years import year_plot
from fmim_reports.reading.results import read_results
from fmim_reports.stats import mean_se
from tests.support.factories import SPACES, make_out
from tests.support.file_contents import edit, metrics_of
from tests.support.reports import bands, cut_off, intervals, lines, panels, touching

LOOK = {"color": "#0072B2", "marker": "o"}
VALUES = {1: {0: 0.31, 1: 0.42, 2: 0.36, 3: 0.4}, 2: {0: 0.5, 1: 0.7}, 4: {2: 0.6}}


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


@pytest.mark.parametrize("bars", [False, True])
def test_a_line_is_the_mean_and_se_of_the_statistics(axes: Axes, bars: bool) -> None:
    draw_line(axes, mean_points(VALUES, scale=100), bars=bars, label="arm", **LOOK)
    found = {x: mean_se(values) for x, values in VALUES.items()}
    assert lines(axes) == {"arm": pytest.approx({float(x): 100 * stat.mean for x, stat in found.items()}, rel=1e-12)}
    (ends,) = intervals(axes) if bars else bands(axes)
    assert set(ends) == {1.0, 2.0}  # n = 1 has no SE
    for x, end in ends.items():
        stat = found[int(x)]
        assert stat.se is not None
        assert end == pytest.approx((100 * (stat.mean - stat.se), 100 * (stat.mean + stat.se)), rel=1e-12)
    assert {axes.lines[0].get_color(), axes.lines[0].get_markeredgecolor()} == {LOOK["color"]}


def test_a_mean_with_a_value_that_is_not_a_number_is_a_gap_and_so_is_one_of_no_value(axes: Axes) -> None:
    values = {3: {0: 0.3}, 1: {0: 0.1}, 2: {0: 0.2, 1: math.nan}, 4: {0: 0.4}, 5: {}, 6: {0: 0.6}}
    draw_line(axes, mean_points(values), label="arm", **LOOK)
    x, y = axes.lines[0].get_data()
    assert np.asarray(x).tolist() == [1, 2, 3, 4, 5, 6]
    assert np.isnan(np.asarray(y, dtype=float)).tolist() == [False, True, False, False, True, False]


def test_a_line_without_any_value_stands_in_the_legend(axes: Axes) -> None:
    draw_line(axes, mean_points({1: {0: math.nan}, 2: {}}), label="nothing", **LOOK)
    draw_line(axes, mean_points({math.nan: {0: 0.5}}), label="nowhere", **LOOK)
    assert lines(axes) == {"nothing": {}, "nowhere": {}}
    assert axes.get_legend_handles_labels()[1] == ["nothing", "nowhere"]


def test_values_with_a_given_band(axes: Axes) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3, 4, 5], "y": [1.0, 2.0, math.nan, 4.0, 4.5]})
    draw_line(axes, frame.assign(low=frame["y"] - 0.25, high=frame["y"] + 0.5), label="line", **LOOK)
    assert bands(axes) == [{1: (0.75, 1.5), 2: (1.75, 2.5), 4: (3.75, 4.5), 5: (4.25, 5.0)}]


def extents(values: list[float]) -> dict[str, Extent]:
    return {str(number): Extent.over([value]) for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([75, 76, 78, 72, 70, 80, 1.5], {1.5}),
        ([5, 6, 7, 4, 5, 90], {90}),
        ([75, 1.5], set()),  # of two, neither is the exception
        ([70, 71, 72, 1.5, 1.6, 1.7], set()),  # so many are none either
        ([54, 53, 51, 49, 45, 58, 39, 31], set()),  # it would not make the axis twice as long
        ([80.0, 80.1, 80.1, 74.0], set()),  # within ten points
        ([math.nan, 75, 76, 77, 1.5], {1.5}),
    ],
)
def test_an_outlier_does_not_set_the_scale(values: list[float], expected: set[float]) -> None:
    scale = scale_of(extents(values))
    assert {values[int(name)] for name in scale.beyond} == expected
    shown = [value for value in values if not math.isnan(value) and value not in expected]
    assert (scale.low, scale.high) == (min(shown), max(shown))
    assert scale.note == (f" {RULE}" if expected else "")


def test_bars_set_the_scale_up_to_the_distance_at_which_arms_are_beyond() -> None:
    arms = extents([70, 71, 72]) | {"long": Extent.over([71.0], [50.0]), "short": Extent.over([72.0], [3.0])}
    scale = scale_of(arms)
    assert (scale.low, scale.high) == (61, 81)  # five times the least spread from the median, 71
    assert scale_of(extents([70, 71, 72]), extents([60])).low == 60
    assert scale_of(extents([70, 71, 72]), {"reference": Extent.over([5.0])}).below == {"reference"}
    assert math.isnan(scale_of(extents([math.nan])).low)


def test_an_arm_that_is_beyond_stands_at_the_edge_with_its_value() -> None:
    figure = Figure(figsize=(3.5, 3), layout="constrained")
    above, beside = figure.subplots(2, 1)
    above.set_xlim(0, 3)
    scale = scale_of(extents([70, 72, 74, 76, 78, 80, 1.5, 2.5]))
    assert scale.below == {"6", "7"}
    scale_y({above: [Mark("6", 1, "1.5", LOOK), Mark("7", 1, "2.5", LOOK), Mark("0", 2, "70.0", LOOK)]}, scale)
    scale_x(beside, [Mark("6", 0.5, "1.5", LOOK)], scale)
    assert [text.get_text() for text in above.texts] == ["↓ 1.5", "↓ 2.5"]
    assert [text.get_text() for text in beside.texts] == ["← 1.5"]
    assert min(above.get_yticks()) >= 69
    assert min(beside.get_xticks()) >= 69
    assert above.get_ylim()[1] == pytest.approx(80.5)
    assert (touching(figure), cut_off(figure)) == ([], [])


def test_a_collapsed_arm_is_at_the_edge_of_the_figures_and_few_queries_have_a_star(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=[arm for arm in SPACES if arm != "adatriplet_q1"])
    for seed in range(5):
        collapsed = {name: 0.015 for name in metrics_of(0.5, 0.01) if name.startswith("mAP/")}
        test = metrics_of(0.015, 0.01) | collapsed | {"mAP/year_8": 0.01}
        edit(out / "records" / f"triplet_q1.c00.seed{seed}.json", metrics={"validation": None, "test": test})
    results = read_results(out)
    left, right = panels(plot := year_plot(results))
    assert left.get_ylim()[1] > 80 > left.get_ylim()[0] > 20
    (text,) = left.texts
    assert text.get_text() == "↓ 1.0 to 1.5"
    assert list(right.texts) == []
    assert RULE in plot.caption
    assert "* Fewer than 30 queries." in plot.caption
    assert [label.get_text().split("\n")[0] for label in right.get_xticklabels()][-2:] == ["6*", "8*"]
    assert lines(left)["Q1"] == {}  # named in the legend, by whose look it is known at the edge
    by_trials, _ = panels(cost_plot(results))
    assert by_trials.get_ylim()[0] > 20
    assert [text.get_text() for text in by_trials.texts] == ["↓ 1.5"]


NAME = "膝关节"


def test_letters_come_from_a_font_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    families: list[list[str]] = []
    plot = Plot("p", "", "", "", 2, lambda figure: families.append(matplotlib.rcParams["font.family"]))
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Arial", "Malgun Gothic", "Noto Sans CJK SC"])
    drawn(plot, "data")
    assert families == [[FONT, "Noto Sans CJK SC", "Malgun Gothic"]]


def test_letters_that_no_font_has_are_not_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def titled(figure: Figure) -> None:
        figure.add_subplot().set_title(f"{NAME} mAP")

    monkeypatch.setattr("fmim_reports.drawing.plotting.FURTHER_FONTS", ())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert b"<svg" in render(Plot("knees", "Knees", "Knees.", "Knees.", 2, titled), NAME).files["svg"]
    assert caplog.messages == []
