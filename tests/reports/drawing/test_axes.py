"""The scale of an axis is that of the arms that matter; none of the others is left out without a word."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fmim_reports.drawing.axes import RULE, Extent, Mark, scale_of, scale_x, scale_y
from fmim_reports.parts.costs import cost_plot
from fmim_reports.parts.years import year_plot
from fmim_reports.reading.results import read_results
from tests.support.factories import SPACES, make_out
from tests.support.file_contents import edit, metrics_of
from tests.support.reports import cut_off, lines, panels, touching

LOOK = {"color": "#0072B2", "marker": "o"}


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


def test_a_collapsed_arm_is_at_the_edge_of_the_figures_and_few_queries_are_hollow(tmp_path: Path) -> None:
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
    assert "Hollow: a mean over fewer than 30 queries (year 6: 22, year 8: 16)." in plot.caption
    hollow = [line for line in right.lines if line.get_markerfacecolor() == "#fdfdfd"]
    assert [list(line.get_xdata()) for line in hollow] == [[3, 4]] * 3
    assert lines(left)["Q1"] == {}  # named in the legend, by whose look it is known at the edge
    by_trials, _ = panels(cost_plot(results))
    assert by_trials.get_ylim()[0] > 20
    assert [text.get_text() for text in by_trials.texts] == ["↓ 1.5"]
