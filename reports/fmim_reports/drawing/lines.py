"""Lines drawn from tidy frames: means over replicates with ± SE, and values that are computed already.

Means and SE are those of the tables (`mean_se`). A mean over a value that is not a number is not a number itself, so a
line has a gap there. Axis labels and legends are the figure's own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from fmim_reports.stats import mean_se

ByReplicate = Mapping[int, Mapping[Any, float]] | Mapping[float, Mapping[Any, float]]
_POINTS = ["x", "y", "low", "high"]


def mean_points(values: ByReplicate, scale: float = 1) -> pd.DataFrame:
    """Return a row (x, y, low, high) per x → replicate → value: the mean of scale × value, and its ends ± SE.

    y is not a number where a value is not one, and where there is none; one value has no ends.
    """
    found = [(x, mean_se([scale * value for value in values[x].values()])) for x in sorted(values)]  # type: ignore
    rows = [(x, stat.mean, math.nan if stat.se is None else stat.se) for x, stat in found if not math.isnan(x)]
    return pd.DataFrame([(x, y, y - se, y + se) for x, y, se in rows], columns=_POINTS, dtype=float)


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
