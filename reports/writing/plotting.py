"""The look of the figures, and saving them: no pyplot, no global state, the same bytes each time."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from reports.writing.formats import to_html

COLUMN_INCHES = 3.5  # a column of a two-column paper
PNG_DPI = 200
INK, QUIET, LINE = "#1b1f24", "#5b6470", "#d5dae0"

# Okabe and Ito's colours tell apart for every kind of colour vision; markers and dashes repeat the difference.
LOOKS: Mapping[str, Mapping[str, Any]] = {
    "Q1": {"color": "#E69F00", "marker": "v", "linestyle": (0, (1, 1.2))},
    "Q2": {"color": "#56B4E9", "marker": "^", "linestyle": (0, (3, 1.2))},
    "WAT": {"color": "#009E73", "marker": "s", "linestyle": (0, (5, 1, 1, 1))},
    "Grid search": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "AutoMargin": {"color": "#D55E00", "marker": "D", "linestyle": "-"},
    "AutoMargin (K = 2)": {"color": "#D55E00", "marker": "P", "linestyle": (0, (3, 1.2))},
    "Random search": {"color": "#009E73", "marker": "s", "linestyle": "-"},
    "TPE": {"color": "#CC79A7", "marker": "^", "linestyle": "-"},
    "ASHA": {"color": "#E69F00", "marker": "v", "linestyle": "-"},
    "Fixed margin": {"color": "#0072B2", "marker": "o", "linestyle": (0, (3, 1.2))},
}
_SPARE = ("#CC79A7", "#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", INK)
_SPARE_MARKERS = "osD^vPX*"  # one more than the colours, so that a pair of both comes again late

STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.5,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "axes.labelcolor": INK,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.2,
    "svg.fonttype": "path",
    "svg.hashsalt": "fmim",
    "savefig.facecolor": "white",
}

# A user's matplotlibrc must not change a report; the backend is left alone, since figures here have their own canvas.
_DEFAULTS: dict[Any, Any] = {
    key: value for key, value in matplotlib.rcParamsDefault.items() if not key.startswith("backend")
}


class NothingToDraw(Exception):
    """A figure's data do not exist yet; the message says what is missing."""


@dataclass(frozen=True)
class Plot:
    """A figure of the report: `draw` fills an empty matplotlib figure of `height` inches and column width.

    `of_data`: whether it shows results, and so says under its axes on which data.
    """

    name: str
    title: str
    caption: str
    alt: str
    height: float
    draw: Callable[[Figure], None]
    of_data: bool = True


@dataclass(frozen=True)
class Drawing:
    """A drawn figure: PNG and SVG as files, and the SVG as it goes into the page."""

    png: bytes
    svg: bytes
    inline: str


def look(search: str, position: int = 0) -> dict[str, Any]:
    """Colour, marker and line of a way to search; unknown ones take spare colours by position."""
    spare = {"color": _SPARE[position % len(_SPARE)], "marker": _SPARE_MARKERS[position % len(_SPARE_MARKERS)]}
    spare["linestyle"] = "-"
    return dict(LOOKS.get(search, spare))


def render(plot: Plot, source: str) -> Drawing:
    """Draws at column width, with the data's name under the axes, so that a figure alone still says it."""
    with matplotlib.rc_context(_DEFAULTS | STYLE):
        figure = Figure(figsize=(COLUMN_INCHES, plot.height), dpi=PNG_DPI, layout="constrained")
        plot.draw(figure)
        if plot.of_data:
            figure.supxlabel(source, fontsize=7, color=QUIET, x=0.99, ha="right")
        png, svg = io.BytesIO(), io.BytesIO()
        FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
    return Drawing(png.getvalue(), svg.getvalue(), inline_svg(svg.getvalue().decode(), plot.name, plot.alt))


def inline_svg(svg: str, name: str, alt: str) -> str:
    """The SVG for the page: ids of its own, described for those who do not see it, ink that follows the theme."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'( xmlns:xlink)="[^"]*"', "", svg, count=1).replace("xlink:href", "href")
    # Matplotlib names a picture after its content, so that one shown twice has its name twice; nothing refers to it.
    svg = re.sub(r'(<image\b[^>]*?)\sid="[^"]*"', r"\1", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    for colour, variable in ((INK, "ink"), (QUIET, "quiet"), (LINE, "line"), ("#ffffff", "card")):
        svg = svg.replace(colour, f"var(--{variable})")
    size = re.search(r'viewBox="([^"]+)"', svg)
    box = size[1] if size else f"0 0 {72 * COLUMN_INCHES} {72 * COLUMN_INCHES}"
    head = f'<svg viewBox="{box}" role="img" aria-label="{_plain(alt)}">'
    return re.sub(r"<svg[^>]*>", lambda _: head, svg, count=1)


def _plain(text: str) -> str:
    return re.sub(r"<[^>]+>", "", to_html(text))


def band(axes: Axes, x: Any, mean: Any, se: Any, **style: Any) -> None:
    """A line with its ± SE band; where there is no SE there is no band."""
    low, high = (
        np.asarray(mean, float) - np.asarray(se, float),
        np.asarray(mean, float) + np.asarray(se, float),
    )
    axes.plot(x, mean, **style)
    axes.fill_between(x, low, high, color=style["color"], alpha=0.2, linewidth=0)
