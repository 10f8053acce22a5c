"""Lines of means: mean ± SE is that of the statistics, and what is not a number is a gap."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.drawing.lines import draw_hollow, draw_line, mean_points
from fmim_reports.stats import mean_se
from tests.support.reports import bands, intervals, lines

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


def test_values_with_a_given_band_and_hollow_markers(axes: Axes) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3, 4, 5], "y": [1.0, 2.0, math.nan, 4.0, 4.5]})
    draw_line(axes, frame.assign(low=frame["y"] - 0.25, high=frame["y"] + 0.5), label="line", **LOOK)
    assert bands(axes) == [{1: (0.75, 1.5), 2: (1.75, 2.5), 4: (3.75, 4.5), 5: (4.25, 5.0)}]
    draw_hollow(axes, frame, [4], **LOOK)
    assert [list(line.get_xdata()) for line in axes.lines if line.get_markerfacecolor() == "#fdfdfd"] == [[4]]
