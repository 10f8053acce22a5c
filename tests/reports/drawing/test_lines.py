"""Lines of means drawn by seaborn: mean ± SE is that of the statistics, and what is not a number is a gap."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.drawing.lines import mean_line, replicates, unbroken, value_line
from fmim_reports.stats import mean_se
from tests.support.drawn import bands, intervals, lines

LOOK = {"color": "#0072B2", "marker": "o"}
VALUES = {1: {0: 0.31, 1: 0.42, 2: 0.36, 3: 0.4}, 2: {0: 0.5, 1: 0.7}, 4: {2: 0.6}}


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


def test_a_band_is_the_mean_and_se_of_the_statistics(axes: Axes) -> None:
    mean_line(axes, replicates(VALUES), label="arm", **LOOK)
    found = {x: mean_se(values) for x, values in VALUES.items()}
    assert lines(axes) == {"arm": pytest.approx({float(x): stat.mean for x, stat in found.items()}, rel=1e-12)}
    (band,) = bands(axes)
    assert set(band) == {1.0, 2.0}  # n = 1 has no SE
    for x, ends in band.items():
        stat = found[int(x)]
        assert stat.se is not None
        assert ends == pytest.approx((stat.mean - stat.se, stat.mean + stat.se), rel=1e-12)


def test_bars_are_the_mean_and_se_in_percent(axes: Axes) -> None:
    mean_line(axes, replicates(VALUES, scale=100), bars=True, **LOOK)
    (bars,) = intervals(axes)
    for x in (1, 2):
        stat = mean_se(VALUES[x])
        assert stat.se is not None
        assert bars[x] == pytest.approx((100 * (stat.mean - stat.se), 100 * (stat.mean + stat.se)), rel=1e-12)
    assert set(bars) == {1.0, 2.0}


def test_a_mean_with_a_value_that_is_not_a_number_is_a_gap_and_so_is_one_of_no_value(axes: Axes) -> None:
    values = {1: {0: 0.1}, 2: {0: 0.2, 1: math.nan}, 3: {0: 0.3}, 4: {0: 0.4}, 5: {}, 6: {0: 0.6}}
    assert [piece["x"].tolist() for piece in unbroken(replicates(values))] == [[1], [3, 4], [6]]
    mean_line(axes, replicates(values), label="arm", **LOOK)
    assert [line.get_xdata().tolist() for line in axes.lines] == [[1], [3, 4], [6]]
    assert axes.get_legend_handles_labels()[1] == ["arm"]


def test_a_line_without_any_value_stands_in_the_legend(axes: Axes) -> None:
    mean_line(axes, replicates({1: {0: math.nan}, 2: {}}), label="nothing", **LOOK)
    mean_line(axes, replicates({math.nan: {0: 0.5}}), label="nowhere", **LOOK)
    assert lines(axes) == {"nothing": {}, "nowhere": {}}
    assert axes.get_legend_handles_labels()[1] == ["nothing", "nowhere"]


def test_values_with_a_given_band(axes: Axes) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3, 4, 5], "y": [1.0, 2.0, math.nan, 4.0, 4.5]})
    value_line(axes, frame.assign(low=frame["y"] - 0.25, high=frame["y"] + 0.5), label="line", **LOOK)
    assert [line.get_xdata().tolist() for line in axes.lines] == [[1, 2], [4, 5]]
    assert bands(axes) == [{1: (0.75, 1.5), 2: (1.75, 2.5)}, {4: (3.75, 4.5), 5: (4.25, 5.0)}]


def test_markers_have_the_colour_of_their_line(axes: Axes) -> None:
    mean_line(axes, replicates(VALUES), **LOOK)
    assert {axes.lines[0].get_color(), axes.lines[0].get_markeredgecolor()} == {LOOK["color"]}
    assert np.isclose(axes.lines[0].get_markeredgewidth(), 1)
