"""The look and the layout of the figures: none of pyplot's figures or state."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from fmim_reports.writing.formats import to_figure

T = TypeVar("T")
_FREE_ROWS, _LEGEND_ROW = 3, 0.145  # rows of a legend that a plot has room for, and inches of each
_LEGEND_SHARE = 4.3  # a legend with its margin takes less than a quarter of the height
COLUMN_INCHES = 3.5  # a column of a two-column paper
PNG_DPI = 200

# A user's matplotlibrc must not change a report; the backend is left alone, since figures here have their own canvas.
_LOOK: dict[Any, Any] = {
    name: value
    for name, value in matplotlib.rc_params_from_file(Path(__file__).with_name("report.mplstyle")).items()
    if not name.startswith("backend")
}
INK, QUIET, LINE = (str(_LOOK[name]) for name in ("text.color", "axes.edgecolor", "grid.color"))

FONT = "DejaVu Sans"  # matplotlib's own, which has no letters of these:
FURTHER_FONTS = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS"),
    *("Microsoft YaHei", "Yu Gothic", "Malgun Gothic"),
)
"""Fonts with Chinese, Japanese or Korean letters, as systems have them."""


@contextmanager
def report_style() -> Iterator[None]:
    """Set the look of a report's figures; letters that its font lacks come from those of `FURTHER_FONTS` there are."""
    there = font_manager.get_font_names()
    fonts = [FONT, *(font for font in FURTHER_FONTS if font in there)]
    with matplotlib.rc_context(_LOOK | {"font.family": fonts}):
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Silence matplotlib's remarks on letters no font has, on fonts without bold ones, and on names without room."""
    logger = logging.getLogger(font_manager.__name__)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Glyph .* missing from font|constrained_layout not applied", UserWarning)
            yield
    finally:
        logger.setLevel(level)


class NothingToDraw(Exception):
    """Raised by a function that makes a figure while its data do not exist; the message says what is missing."""


@dataclass(frozen=True)
class Plot:
    """A figure of the report: `draw` fills an empty matplotlib figure of `width` × `height` inches.

    With `of_data` it shows results, and so says under its axes on which data. One that `leads` is beside the answer.
    """

    name: str
    title: str
    caption: str
    alt: str
    height: float
    draw: Callable[[Figure], None]
    of_data: bool = True
    width: float = COLUMN_INCHES
    leads: bool = False


def plot_or_reason(make: Callable[[T], Plot], results: T) -> Plot | NothingToDraw:
    """Return a figure of results, or why it cannot be drawn yet."""
    try:
        return make(results)
    except NothingToDraw as nothing:
        return nothing


def drawn(plot: Plot, source: str) -> Figure:
    """Return a new figure at column width, with the data's name under the axes, so that it alone still says it."""
    with report_style():
        return _figure(plot, source)


def drawn_in_place_of(axes: Axes, plot: Plot, source: str) -> SubFigure:
    """Draw the same figure where `axes` stand in a figure of one's own: as a part of it, which takes their place.

    Its legend stands outside the panels, so that a figure without a layout engine gets matplotlib's constrained one.

    Raises:
        ValueError: the axes stand at no place of a grid, or no longer do; or their figure has another layout engine.
    """
    place, parent = axes.get_subplotspec(), axes.figure
    if place is None or parent is None:
        raise ValueError(
            "these axes are not in a grid of subplots, or another figure uses them already: give new axes of "
            "plt.subplots() or figure.add_subplot() for each figure"
        )
    engine, whole = parent.get_layout_engine(), parent.canvas.figure
    if engine is None:
        whole.set_layout_engine("constrained")
    elif not isinstance(engine, ConstrainedLayoutEngine):
        raise ValueError(
            f"the figure of these axes has the layout engine {type(engine).__name__}, which leaves no room for a "
            'legend: create it with layout="constrained", as in plt.subplots(layout="constrained")'
        )
    with report_style():
        axes.remove()
        part = parent.add_subfigure(place)
        _fill(part, plot, source)
    return part


def _figure(plot: Plot, source: str) -> Figure:
    figure = Figure(figsize=(plot.width, plot.height), dpi=PNG_DPI, layout="constrained")
    _fill(figure, plot, source)
    rows = sum(math.ceil(len(one.get_texts()) / one._ncols) for one in figure.legends)  # type: ignore[attr-defined]
    height = plot.height + _LEGEND_ROW * max(0, rows - _FREE_ROWS)
    figure.set_size_inches(plot.width, max(height, _LEGEND_SHARE * _LEGEND_ROW * rows))
    return figure


def _fill(figure: Figure | SubFigure, plot: Plot, source: str) -> None:
    others = set(figure.canvas.figure.axes)
    plot.draw(cast(Figure, figure))  # a plot uses only what a part of a figure has, too
    if plot.of_data:
        figure.supxlabel(source, fontsize=7, color=QUIET, x=0.99, ha="right")
    for text in figure.findobj(Text):
        text.set_text(to_figure(text.get_text()))
    # Matplotlib makes and counts ticks when they are shown, by the look of that moment, and makes them like the first.
    for axes in (axes for axes in figure.canvas.figure.axes if axes not in others and axes.axison):
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(names := axis.get_major_formatter(), FuncFormatter):  # of ticks with names
                axis.set_major_formatter(FuncFormatter(_as_text(names)))
            (first,) = axis.get_major_ticks(1)
            axis.set_tick_params(labelsize=first.label1.get_fontsize())
            axis.get_minor_ticks(1)


def _as_text(names: FuncFormatter) -> Callable[[float, int | None], str]:
    return lambda value, place: to_figure(names(value, place))
