"""Lines of figures: means over replicates with ± SE, references, panels and legends.

Means and SE are those of the tables (`mean_se`). A mean over a value that is not a number is not a number itself, so a
line has a gap there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from fmim_reports.drawing.hints import KEY, PointHints
from fmim_reports.drawing.looks import MOST_PANELS, Look, reference_looks
from fmim_reports.drawing.plotting import COLUMN_INCHES, QUIET
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, on_reference
from fmim_reports.stats import mean_se
from fmim_reports.writing.formats import to_figure

_MOST_COLUMNS = 4  # of a legend
_MOST_ROWS = 6  # in letters of the usual size
_LEGEND_POINTS, _SMALL = 7.0, 6.0
_HANDLE = 2.8  # of a line beside its label, in letters
_ROOM = 72 * COLUMN_INCHES - 8


def panels(arms: Sequence[ArmSummary]) -> dict[str, list[ArmSummary]]:
    """Return the arms of each panel by its title: one panel per group, or one without title where groups are many."""
    found: dict[str, list[ArmSummary]] = {}
    for arm in arms:
        found.setdefault(arm.group, []).append(arm)
    return found if len(found) <= MOST_PANELS else {"": list(arms)}


def aside(position: int, of: int, share: float) -> float:
    """Return a factor near 1 that moves the `position`-th of so many points apart, so that equal values hide none."""
    return 1 + share * (position - (of - 1) / 2)


def shared_legend(figure: Figure, panels: Iterable[Axes], looks: Sequence[Look] = ()) -> None:
    """Show one legend above the panels, each label once, and how the markers of each group of arms are filled.

    looks: of the arms and references in the figure, which the page switches off by their entries.
    """
    shown: dict[str, Any] = {}
    first, *others = panels
    for axes in (first, *others):
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    groups = {look.group: look for look in looks if look.group}
    if len({str(look.face) for look in groups.values()}) > 1:
        for group, look in groups.items():
            (shown[group],) = first.plot([], [], linestyle="", marker="o", **{"color": QUIET, **look.face})
    size, columns = _layout([*shown])
    letters: dict[str, Any] = {"fontsize": size, "ncols": columns, "columnspacing": 1}
    legend = figure.legend(shown.values(), shown, loc="outside upper center", **letters)
    for label, text in zip(shown, legend.get_texts(), strict=True):
        if names := [look.name for look in looks if label in look.legend_names]:
            text.set_gid(KEY + "+".join(names))


def _layout(labels: Sequence[str]) -> tuple[float, int]:
    """Return the points of the letters of a legend, smaller ones where it would be long, and its columns."""
    columns = _columns(labels, _LEGEND_POINTS)
    return (_LEGEND_POINTS, columns) if len(labels) <= _MOST_ROWS * columns else (_SMALL, _columns(labels, _SMALL))


def _columns(labels: Sequence[str], size: float) -> int:
    """Return how many columns of these labels fit side by side at column width."""
    font, widths = FontProperties(size=size), []
    for text in map(to_figure, labels):  # a sign or formula as drawn
        width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath="$" in text)
        widths.append(_HANDLE * size + float(width))
    for columns in range(min(_MOST_COLUMNS, len(labels)), 1, -1):
        longest = [max(found) for found in np.array_split(widths, columns)]  # as matplotlib fills a legend
        if sum(longest) + size * (columns - 1) <= _ROOM:
            return columns
    return 1


def mean_points(values: Mapping[Any, Mapping[Any, float]], scale: float = 1) -> pd.DataFrame:
    """Return a row (x, y, low, high, n) per x → replicate → value: the mean of scale × value, and its ends ± SE.

    y is not a number where a value is not one, and where there is none; one value has no ends.
    """
    found = [(x, mean_se([scale * value for value in values[x].values()])) for x in sorted(values)]
    rows = [(x, stat.mean, math.nan if stat.se is None else stat.se, stat.n) for x, stat in found if not math.isnan(x)]
    columns = ["x", "y", "low", "high", "n"]
    return pd.DataFrame([(x, y, y - se, y + se, n) for x, y, se, n in rows], columns=columns, dtype=float)


def draw_line(
    axes: Axes,
    points: pd.DataFrame,
    *,
    look: Look | None = None,
    bars: bool = False,
    alpha: float = 0.2,
    label: str = "_",
    every: int = 1,
    **style: Any,
) -> None:
    """Draw the values y of x, one row each, with a band or bars from `low` to `high` where the frame has them.

    look: of the arm or reference whose values they are, and by which they say them on the page; `style` goes before.
    every: so many points have one marker.
    """
    style = ({**look.line} if look else {}) | style
    x, y = (points[name].to_numpy() for name in ("x", "y"))  # Matplotlib takes long with columns of frames
    axes.plot(x, y, label=label, **({"markevery": every} | style))
    if look:
        axes.add_artist(PointHints(look, points[::every]))
    if "low" not in points:
        return
    low, high, gid = (points["low"].to_numpy(), points["high"].to_numpy(), style.get("gid"))
    if bars:
        drawn = axes.errorbar(x, y, [y - low, high - y], fmt="none", ecolor=style["color"], elinewidth=1, capsize=2)
        for part in drawn.get_children():
            part.set_gid(gid)
    else:
        axes.fill_between(x, low, high, color=style["color"], alpha=alpha, linewidth=0, gid=gid)


LINES_NOTE = "Thin grey lines: references, without training."


def reference_lines(
    axes: Axes, results: Results, metric: str, places: Mapping[int, float], arms: Collection[str]
) -> None:
    """Draw thin lines of a metric by time, each at its place, of the references that stand beside any of the arms."""
    for reference in results.references:
        values = {place: on_reference(results, reference, metric, time).values for time, place in places.items()}
        if any(values.values()) and not set(arms).isdisjoint(reference.arms):
            look = reference_looks(results)[reference.name]
            draw_line(axes, mean_points(values, scale=100), look=look, label=look.label)
