"""The references beside the arms as lines of figures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from matplotlib.axes import Axes

from fmim_reports.drawing.lines import draw_line, mean_points
from fmim_reports.drawing.plotting import QUIET
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import on_reference

_DASHES = ((0, (1, 1)), (0, (4, 1.5)), (0, (4, 1, 1, 1)), "-")
LINES_NOTE = "Thin grey lines: references, which no training made."


def reference_lines(
    axes: Axes, results: Results, metric: str, places: Mapping[int, float], arms: Collection[str]
) -> None:
    """Draw thin lines of a metric by time, each at its place, of the references that stand beside any of the arms."""
    for number, reference in enumerate(results.references):
        values = {place: on_reference(results, reference, metric, time).values for time, place in places.items()}
        if any(values.values()) and not set(arms).isdisjoint(reference.arms):
            style: dict[str, Any] = {"color": QUIET, "linewidth": 0.8, "linestyle": _DASHES[number % len(_DASHES)]}
            draw_line(axes, mean_points(values, scale=100), label=reference.label, **style)
