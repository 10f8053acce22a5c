"""Lines drawn from tidy frames: means over replicates with ± SE, and values that are computed already.

Means and SE are those of the tables (`mean_se`). A mean over a value that is not a number is not a number itself, so a
line has a gap there. Axis labels and legends are the figure's own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fmim_reports.stats import mean_se

ByReplicate = Mapping[int, Mapping[Any, float]] | Mapping[float, Mapping[Any, float]]
_BAND_ALPHA = 0.2
_BARS: Mapping[str, Any] = {"elinewidth": 1, "capsize": 2}
_NONE: Mapping[Any, float] = {None: math.nan}


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
    gaps = np.unique(frame["x"][frame["y"].isna()])
    whole = frame[frame["x"].notna() & ~frame["x"].isin(gaps)]
    if not len(gaps):
        return [whole] if len(whole) else []
    return [piece for _, piece in whole.groupby(np.searchsorted(gaps, whole["x"]))]


def mean_line(axes: Axes, frame: pd.DataFrame, *, bars: bool = False, label: str = "_", **style: Any) -> None:
    """The means over replicates of a frame of `replicates`, with ± SE as a band or as bars; one value has no SE."""
    pieces = [_means(piece) for piece in unbroken(frame)]
    _draw(axes, pieces, label, style)
    for piece in pieces:
        x, y, se = (piece[name].to_numpy() for name in ("x", "y", "se"))  # Matplotlib takes long with columns of frames
        if bars:
            axes.errorbar(x, y, se, fmt="none", ecolor=style["color"], **_BARS)
        else:
            axes.fill_between(x, y - se, y + se, color=style["color"], alpha=_BAND_ALPHA, linewidth=0)


def hollow(axes: Axes, frame: pd.DataFrame, few: Collection[float], **style: Any) -> None:
    """Makes the markers of means hollow at these x: they rest on few queries."""
    means = pd.concat([_means(piece) for piece in unbroken(frame)] or [pd.DataFrame(columns=["x", "y"])])
    chosen = means[means["x"].isin(few)]
    # Not pure white: the page gives pure white the colour of the card behind the figure.
    face = {"markerfacecolor": "#fdfdfd", "linestyle": "", "label": "_"}
    axes.plot(chosen["x"], chosen["y"], **{**style, **face}, zorder=3)


def value_line(
    axes: Axes, frame: pd.DataFrame, *, band_alpha: float = _BAND_ALPHA, label: str = "_", **style: Any
) -> None:
    """The values y of x, one row each, with a band from `low` to `high` where the frame has these columns."""
    pieces = unbroken(frame)
    _draw(axes, pieces, label, style)
    for piece in pieces if "low" in frame else ():
        x, low, high = (piece[name].to_numpy() for name in ("x", "low", "high"))
        axes.fill_between(x, low, high, color=style["color"], alpha=band_alpha, linewidth=0)


def _means(piece: pd.DataFrame) -> pd.DataFrame:
    """One row (x, y, se) for each x of a frame of `replicates`."""
    places, values = piece["x"].to_numpy(), piece["y"].to_numpy()
    found = [(x, mean_se(values[places == x])) for x in np.unique(places)]
    rows = [(x, stat.mean, math.nan if stat.se is None else stat.se) for x, stat in found]
    return pd.DataFrame(rows, columns=["x", "y", "se"])


def _draw(axes: Axes, pieces: list[pd.DataFrame], label: str, style: Mapping[str, Any]) -> None:
    """Draws the pieces as one line: its name stands in the legend once, and also where there is no piece."""
    for piece in pieces:
        axes.plot(piece["x"].to_numpy(), piece["y"].to_numpy(), label=label if piece is pieces[0] else "_", **style)
    if not pieces:
        axes.plot([], [], label=label, **style)
