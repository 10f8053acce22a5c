"""A forest plot: differences with their intervals, a row each, on one scale that holds 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes

from fmim_reports.drawing.axes import Extent, Mark, Scale, scale_of, scale_x
from fmim_reports.drawing.looks import CARD
from fmim_reports.drawing.plotting import INK, LINE
from fmim_reports.writing.formats import points

_ZERO = "#7A828C"


@dataclass(frozen=True)
class ForestRow:
    """A difference of fractions with its interval, if it has one.

    Args:
        name: of this row alone.
        label: what stands beside it, above its numbers.
        hollow: it is of another kind than the others.
        shown: what stands at the right, above its numbers; with it they leave the label.
    """

    name: str
    label: str
    value: float
    low: float | None
    high: float | None
    color: str = INK
    marker: str = "o"
    hollow: bool = False
    shown: str = ""

    @property
    def numbers(self) -> str:
        """Return `+0.30 [−0.42, +1.02]`, in percentage points."""
        interval = "" if self.low is None else f" [{points(self.low)}, {points(self.high)}]"
        return f"{points(self.value)}{interval}"


def forest_scale(rows: Sequence[ForestRow]) -> Scale:
    """Return the scale of rows: it holds 0 and every interval but those far off."""
    found = scale_of({row.name: Extent.with_interval(row.value, row.low, row.high) for row in rows})
    return replace(found, low=min(found.low, 0.0), high=max(found.high, 0.0))


def draw_forest(axes: Axes, rows: Sequence[ForestRow], scale: Scale, margin: float | None = None) -> None:
    """Draw the rows from the top, those beyond the scale at its edge, on a band of ±margin if that is given."""
    marks = []
    if margin is not None:
        axes.axvspan(-100 * margin, 100 * margin, color=LINE, alpha=0.5, lw=0, zorder=0)
    for place, row in enumerate(rows):
        style: dict[str, Any] = {"marker": row.marker, "markersize": 5, "color": row.color, "markeredgewidth": 1.2}
        style["markerfacecolor"] = CARD if row.hollow else row.color
        marks.append(Mark(row.name, place, points(row.value, 1), style))
        if row.shown:
            beside: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "va": "center", "fontsize": 6.5}
            axes.annotate(row.shown, (1.02, place - 0.2), fontweight="bold", **beside)
            axes.annotate(row.numbers, (1.02, place + 0.22), **beside)
        if row.name in scale.beyond:
            continue
        if row.low is not None and row.high is not None:
            axes.plot([100 * row.low, 100 * row.high], [place] * 2, color=row.color, lw=1.6, solid_capstyle="butt")
        axes.plot(100 * row.value, place, **style)
    axes.axvline(0, color=_ZERO, lw=0.8, zorder=1)
    axes.set_yticks(range(len(rows)), [row.label if row.shown else f"{row.label}\n{row.numbers}" for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    scale_x(axes, marks, scale)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
