"""What marks say to a reader who points at them on the page: shapes over a figure's SVG, each with its text."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import Bbox

from fmim_core.records import without_controls
from fmim_reports.drawing.looks import Look
from fmim_reports.writing.formats import decimal

KEY = "key."
"""Begins the group id of a text in a legend; after it the names of its arms, with a plus between two."""
_REACH = 5  # points around a mark within which it is pointed at


class Hints(Artist):
    """Texts of marks at `places`, `(N, 2)` in coordinates of the data: one a mark, or one for a line through all.

    Nothing is drawn; the page has them as shapes, see `shapes`.
    """

    def __init__(self, look: Look, places: Sequence[Sequence[float]] | np.ndarray, texts: Sequence[str] = ()) -> None:
        super().__init__()
        self.look, self.places, self._texts = look, np.asarray(places, dtype=float).reshape(-1, 2), texts
        self.set_in_layout(False)

    @property
    def texts(self) -> Sequence[str]:
        """Return what the marks say after the name of their arm."""
        return self._texts

    def draw(self, renderer: RendererBase) -> None:
        """Draw nothing."""


class PointHints(Hints):
    """The same of points (x, y): their values under the names of the axes, with SE and n where the frame has them.

    A column `at` has other texts for x, and `said` for the value.
    """

    def __init__(self, look: Look, points: pd.DataFrame) -> None:
        super().__init__(look, points[["x", "y"]].to_numpy())
        self._points = points

    @property
    def texts(self) -> Sequence[str]:
        """Return `epoch 30: validation mAP 78.51 ± 0.42 % (n = 3)` of each point."""
        axes = cast(Axes, self.axes)
        across, up, title = _label(axes, "x"), _label(axes, "y"), axes.get_title(loc="left")
        panel = f"{title}, " if title and title not in self.look.title else ""
        digits, percent = (2, " %") if up.endswith(" (%)") else (3, "")
        found = []
        for row in self._points.to_dict("records"):
            error = row.get("high", math.nan) - row["y"]
            value = decimal(row["y"], digits) + ("" if math.isnan(error) else f" ± {decimal(error, digits)}")
            n = f" (n = {row['n']:.0f})" if "n" in row else ""
            at = row["at"] if "at" in row else _tick(axes.xaxis, row["x"])
            said = row["said"] if "said" in row else f"{up.removesuffix(' (%)')} {value}{percent}{n}"
            found.append(f"{panel}{across} {at}: {said}")
        return found


def _label(axes: Axes, name: str) -> str:
    """Return the name of an axis, which one panel of those that share it has, as plain text."""
    shared: Any = getattr(axes, f"get_shared_{name}_axes")()
    labels = [getattr(one, f"get_{name}label")() for one in (axes, *shared.get_siblings(axes))]
    return re.sub(r"[${}\\]", "", next(filter(None, labels), "").replace("\n", " "))


def _tick(axis: Axis, value: float) -> str:
    """Return what the axis calls a value: the text of its tick, or the number."""
    names = axis.get_major_formatter()
    named = names(value, None) if isinstance(names, FuncFormatter) else ""
    return named.replace("\n", " ") or f"{value:,.6g}"


def shapes(figure: Figure) -> str:
    """Return SVG elements in points over the marks of a drawn figure, and over the entries of its legends."""
    groups = [_group(figure, hints) for hints in figure.findobj(Hints)]
    return "".join(["\n", *groups, *_keys(figure)])


def _group(figure: Figure, hints: Hints) -> str:
    axes, look = cast(Axes, hints.axes), hints.look
    inside, drawn = axes.bbox.padded(2), hints.get_transform().transform(hints.places)
    places, titles = [_points(figure, x, y) for x, y in drawn], [_title(look, text) for text in hints.texts]
    if len(titles) == len(places):
        shown = [
            one for one, place in zip(zip(places, titles, strict=True), drawn, strict=True) if inside.contains(*place)
        ]
        marks = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_REACH}">{title}</circle>' for (x, y), title in shown]
    else:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        marks = [f'<polyline points="{line}">{titles[0]}</polyline>']
    facts = {"arm": look.name, "label": look.title, "colour": look.colour}
    listed = " ".join(f'data-{name}="{_escaped(value)}"' for name, value in facts.items())
    return f'<g class="hits" {listed}>{"".join(marks)}</g>\n'


def _title(look: Look, text: str) -> str:
    return f"<title>{_escaped(f'{look.title}: {text}')}</title>"


def _keys(figure: Figure) -> Iterator[str]:
    """Yield a rectangle over each entry of the legends that stands for arms."""
    for legend in figure.legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if handle is not None and (gid := text.get_gid()):
                box = Bbox.union([handle.get_window_extent(), text.get_window_extent()]).padded(3)
                (left, bottom), (right, top) = _points(figure, box.x0, box.y0), _points(figure, box.x1, box.y1)
                place = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
                yield f'<rect class="key" data-arms="{_escaped(gid.removeprefix(KEY))}" {place}/>\n'


def _points(figure: Figure, x: float, y: float) -> tuple[float, float]:
    """Return where a place of the canvas lies in the SVG, in points from the top left."""
    width, height = 72 * figure.get_size_inches()
    return width * x / figure.bbox.width, height * (1 - y / figure.bbox.height)


def _escaped(text: str) -> str:
    return html.escape(without_controls(text))
