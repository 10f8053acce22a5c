"""Reads the numbers of a drawn figure back from its artists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure

from fmim_reports.writing.plotting import Plot

Ends = dict[float, tuple[float, float]]


def panels(plot: Plot) -> list[Axes]:
    """The axes of a drawn plot."""
    figure = Figure(layout="constrained")
    plot.draw(figure)
    return figure.axes


def lines(axes: Axes) -> dict[str, dict[float, float]]:
    """x → y of every line that has a name."""
    named = {str(line.get_label()): line for line in axes.lines}
    return {
        name: dict(zip(_floats(line.get_xdata()), _floats(line.get_ydata()), strict=True))
        for name, line in named.items()
        if not name.startswith("_")
    }


def bands(axes: Axes) -> list[Ends]:
    """x → lower and upper end of every band, in the order drawn."""
    found = []
    for band in axes.collections:
        if isinstance(band, FillBetweenPolyCollection):
            ends: dict[float, list[float]] = {}
            for path in band.get_paths():
                for x, y in np.asarray(path.vertices):
                    ends.setdefault(float(x), []).append(float(y))
            found.append({x: (min(ys), max(ys)) for x, ys in ends.items()})
    return found


def intervals(axes: Axes) -> list[Ends]:
    """x → lower and upper end of the bars of every line that has them, in the order drawn."""
    found = []
    for container in axes.containers:
        (bars,) = container.lines[2]  # type: ignore[attr-defined]
        segments = [np.asarray(segment) for segment in bars.get_segments()]
        known = [segment for segment in segments if len(segment) and not np.isnan(segment).any()]
        found.append({float(s[0, 0]): (float(s[:, 1].min()), float(s[:, 1].max())) for s in known})
    return found


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values if not math.isnan(value)]
