"""Lines drawn by seaborn from tidy frames: means over replicates with ± SE, and values that are computed already.

Seaborn leaves out values that are not a number. In a report a mean over such a value is not a number itself, so here
a line has a gap there. Axis labels and legends are the figure's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
import seaborn
from matplotlib.axes import Axes

ByReplicate = Mapping[int, Mapping[Any, float]] | Mapping[float, Mapping[Any, float]]
SE = ("se", 1)  # seaborn's name of sd(ddof = 1) / √n, none for n = 1, as `mean_se` has it; its default is a bootstrap
_BAND_ALPHA = 0.2
_BARS: Mapping[str, Any] = {"elinewidth": 1, "capsize": 2}
_NONE: Mapping[Any, float] = {None: math.nan}
_EDGE: Mapping[str, Any] = {"markeredgecolor": "auto", "markeredgewidth": 1.0}  # of markers: the line's colour


def replicates(values: ByReplicate, scale: float = 1) -> pd.DataFrame:
    """One row (x, replicate, y) per value of x → replicate → value, with y = scale × value.

    An x without replicates has one row, whose y is not a number.
    """
    rows = [(x, key, scale * value) for x, found in values.items() for key, value in (found or _NONE).items()]
    return pd.DataFrame(rows, columns=["x", "replicate", "y"])


def unbroken(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of a line from left to right in as many frames as it has pieces.

    It breaks at an x where any y is not a number.
    """
    gap = frame["y"].isna().groupby(frame["x"]).any()
    whole = frame[frame["x"].map(~gap).eq(True)]
    return [piece for _, piece in whole.groupby(whole["x"].map(gap.cumsum()))]


def mean_line(axes: Axes, frame: pd.DataFrame, *, bars: bool = False, label: str = "_", **style: Any) -> None:
    """The means over replicates of a frame of `replicates`, with ± SE as a band or as bars."""
    errors = (
        {"err_style": "bars", "err_kws": _BARS}
        if bars
        else {"err_style": "band", "err_kws": {"alpha": _BAND_ALPHA, "linewidth": 0}}
    )
    _draw(axes, unbroken(frame), label, {"errorbar": SE, **errors}, style)


def value_line(
    axes: Axes, frame: pd.DataFrame, *, band_alpha: float = _BAND_ALPHA, label: str = "_", **style: Any
) -> None:
    """The values y of x, one row each, with a band from `low` to `high` where the frame has these columns."""
    pieces = unbroken(frame)
    _draw(axes, pieces, label, {"estimator": None, "errorbar": None}, style)
    for piece in pieces if "low" in frame else ():
        axes.fill_between(piece["x"], piece["low"], piece["high"], color=style["color"], alpha=band_alpha, linewidth=0)


def _draw(
    axes: Axes, pieces: list[pd.DataFrame], label: str, statistics: Mapping[str, Any], style: Mapping[str, Any]
) -> None:
    """Draws the pieces as one line: its name stands in the legend once, and also where there is no piece."""
    for piece in pieces:
        drawn = {**_EDGE, **style, "label": "_" if piece is not pieces[0] else label}
        seaborn.lineplot(piece, x="x", y="y", legend=False, ax=axes, **statistics, **drawn)
    if not pieces:
        axes.plot([], [], label=label, **style)
