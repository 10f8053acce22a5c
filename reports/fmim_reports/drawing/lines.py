"""Lines of figures: a style for each arm, means over replicates with ± SE, references, panels and legends.

Means and SE are those of the tables (`mean_se`). A mean over a value that is not a number is not a number itself, so a
line has a gap there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from fmim_reports.drawing.plotting import COLUMN_INCHES, QUIET, line_style
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries, on_reference
from fmim_reports.stats import mean_se
from fmim_reports.writing.formats import to_figure

_MAX_PANELS = 3  # side by side in a column
_FACES = ("full", "none", "left")  # of the markers of one group, another and a third: as many as there are panels
_MOST_COLUMNS = 4  # of a legend
_LEGEND_POINTS = 7.0
_HANDLE, _BETWEEN = 2.8 * _LEGEND_POINTS, _LEGEND_POINTS  # points of a line beside its label, and between columns
_ROOM = 72 * COLUMN_INCHES - 8


@dataclass(frozen=True)
class ArmStyle:
    """The label, line and marker of an arm; `face` is how its marker is filled, which tells groups apart."""

    label: str
    line: Mapping[str, Any]
    face: str


def arm_styles(results: Results) -> dict[str, ArmStyle]:
    """Return the style of every arm by its name.

    With few groups, arms of different groups whose values are set in the same way look alike, and their panel or the
    face of their markers says the group; otherwise every arm has a style of its own.
    """
    arms = arm_summaries(results)
    groups = list(dict.fromkeys(arm.group for arm in arms))
    alike = len(groups) <= _MAX_PANELS and len({(arm.group, arm.short_label) for arm in arms}) == len(arms)
    labels = {arm.name: arm.short_label if alike else arm.label for arm in arms}
    order = list(dict.fromkeys(labels.values() if alike else labels))
    return {
        arm.name: ArmStyle(
            labels[arm.name],
            line_style(order.index(labels[arm.name] if alike else arm.name)),
            _FACES[groups.index(arm.group)] if alike else _FACES[0],
        )
        for arm in arms
    }


def panels(arms: Sequence[ArmSummary]) -> dict[str, list[ArmSummary]]:
    """Return the arms of each panel by its title: one panel per group, or one without title where groups are many."""
    found: dict[str, list[ArmSummary]] = {}
    for arm in arms:
        found.setdefault(arm.group, []).append(arm)
    return found if len(found) <= _MAX_PANELS else {"": list(arms)}


def aside(position: int, of: int, share: float) -> float:
    """Return a factor near 1 that moves the `position`-th of so many points apart, so that equal values hide none."""
    return 1 + share * (position - (of - 1) / 2)


def marker_legend(figure: Figure, arms: Sequence[ArmSummary], styles: Mapping[str, ArmStyle]) -> None:
    """Show above the panels the styles of the arms, and the faces of the groups' markers where arms share styles."""
    axes = figure.axes[0]
    handles: dict[str, Any] = {}
    faces: dict[str, Any] = {}
    for arm in arms:
        style = styles[arm.name]
        if style.label not in handles:
            (handles[style.label],) = axes.plot([], [], **{**style.line, "linestyle": ""})
        if arm.group not in faces:
            (faces[arm.group],) = axes.plot([], [], ls="", color="#777777", marker="o", fillstyle=style.face)
    shared = len({styles[arm.name].face for arm in arms}) > 1
    _legend(figure, handles | faces if shared else handles, columnspacing=0.9, handletextpad=0.1)


def shared_legend(figure: Figure, panels: Iterable[Axes]) -> None:
    """Show one legend above the panels, each label once."""
    shown: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    _legend(figure, shown, columnspacing=1)


def _legend(figure: Figure, handles: Mapping[str, Any], **spaces: float) -> None:
    labels = list(handles)
    figure.legend(handles.values(), labels, loc="outside upper center", ncols=_columns(labels), **spaces)


def _columns(labels: Sequence[str]) -> int:
    """Return how many columns of these labels fit side by side at column width."""
    font, widths = FontProperties(size=_LEGEND_POINTS), []
    for text in map(to_figure, labels):  # a sign or formula as drawn
        width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath="$" in text)
        widths.append(_HANDLE + float(width))
    for columns in range(min(_MOST_COLUMNS, len(labels)), 1, -1):
        longest = [max(found) for found in np.array_split(widths, columns)]  # as matplotlib fills a legend
        if sum(longest) + _BETWEEN * (columns - 1) <= _ROOM:
            return columns
    return 1


def mean_points(values: Mapping[Any, Mapping[Any, float]], scale: float = 1) -> pd.DataFrame:
    """Return a row (x, y, low, high) per x → replicate → value: the mean of scale × value, and its ends ± SE.

    y is not a number where a value is not one, and where there is none; one value has no ends.
    """
    found = [(x, mean_se([scale * value for value in values[x].values()])) for x in sorted(values)]
    rows = [(x, stat.mean, math.nan if stat.se is None else stat.se) for x, stat in found if not math.isnan(x)]
    return pd.DataFrame([(x, y, y - se, y + se) for x, y, se in rows], columns=["x", "y", "low", "high"], dtype=float)


def draw_line(
    axes: Axes, points: pd.DataFrame, *, bars: bool = False, alpha: float = 0.2, label: str = "_", **style: Any
) -> None:
    """Draw the values y of x, one row each, with a band or bars from `low` to `high` where the frame has them."""
    x, y = (points[name].to_numpy() for name in ("x", "y"))  # Matplotlib takes long with columns of frames
    axes.plot(x, y, label=label, **style)
    if "low" not in points:
        return
    low, high = (points[name].to_numpy() for name in ("low", "high"))
    if bars:
        axes.errorbar(x, y, [y - low, high - y], fmt="none", ecolor=style["color"], elinewidth=1, capsize=2)
    else:
        axes.fill_between(x, low, high, color=style["color"], alpha=alpha, linewidth=0)


def draw_hollow(axes: Axes, points: pd.DataFrame, few: Collection[float], **style: Any) -> None:
    """Make the markers at these x hollow: they rest on few queries."""
    chosen = points[points["x"].isin(few)]
    # Not pure white: the page gives pure white the colour of the card behind the figure.
    face = {"markerfacecolor": "#fdfdfd", "linestyle": "", "label": "_"}
    axes.plot(chosen["x"], chosen["y"], **{**style, **face}, zorder=3)


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
