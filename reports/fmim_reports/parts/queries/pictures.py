"""Pictures of images of the bank, which the runner has laid beside the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.image
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fmim_reports.drawing.plotting import COLUMN_INCHES, NothingToDraw
from fmim_reports.parts.queries.shown import ShownQuery
from fmim_reports.reading.results import Results

FOUND, MISSED = "#009E73", "#E69F00"  # green and orange as in the paper, in their colour-blind safe shades
_SIDE = 0.84  # of a picture, in widths of a column of pictures
_BENEATH = 0.22  # inches below a picture for its text
_GAP = 0.05  # between a picture and its text, in widths of a column
_LETTERS = 7  # points


@dataclass(frozen=True)
class Picture:
    """An image with a text beneath it, and a frame of that colour if one is given."""

    image: np.ndarray
    text: str
    frame: str | None = None


@dataclass(frozen=True)
class Pictures:
    """Pictures in so many rows, and in so many columns over the width of a figure.

    All of a panel are drawn in one pair of axes: with axes for each picture a figure takes seconds.
    """

    rows: int
    columns: int

    @property
    def height(self) -> float:
        """Inches that they take in a figure of column width."""
        return self.rows * self._row * COLUMN_INCHES / self.columns

    @property
    def _row(self) -> float:
        """The height of a row, in widths of a column."""
        return _SIDE + _BENEATH * self.columns / COLUMN_INCHES

    def draw(self, axes: Axes, heads: Sequence[str], rows: Iterable[Sequence[Picture]], **look: Any) -> None:
        """Draws a panel of pictures under the heads of its columns, which have this look."""
        for place, head in enumerate(heads):
            axes.text(place + _SIDE / 2, -2 * _GAP, head, ha="center", va="bottom", fontsize=_LETTERS, **look)
        for number, row in enumerate(rows):
            for place, picture in enumerate(row):
                _draw(axes, picture, place, number * self._row)
        axes.set(xlim=(-_GAP / 2, len(heads) - 1 + _SIDE + _GAP / 2), ylim=(self.rows * self._row, -_GAP / 2))
        axes.set_anchor("N")  # heads stand above the axes, where the layout leaves room for them
        axes.set_axis_off()


def _draw(axes: Axes, picture: Picture, left: float, top: float) -> None:
    place = (left, left + _SIDE, top + _SIDE, top)
    axes.imshow(picture.image, cmap="gray", vmin=0, vmax=1, interpolation="nearest", extent=place)
    beneath = top + _SIDE + _GAP
    axes.text(left + _SIDE / 2, beneath, picture.text, ha="center", va="top", fontsize=_LETTERS)
    if picture.frame:
        look: dict[str, Any] = {"fill": False, "edgecolor": picture.frame, "linewidth": 2, "clip_on": False}
        axes.add_patch(Rectangle((left, top), _SIDE, _SIDE, **look))


def images_of(results: Results, shown: Iterable[ShownQuery]) -> dict[int, np.ndarray]:
    """The images of these queries by their rows.

    Raises:
        NothingToDraw: one is not there.
    """
    paths = {row: results.out / "samples" / f"{row}.png" for query in shown for row in query.rows}
    if missing := sorted(row for row, path in paths.items() if not path.is_file()):
        raise NothingToDraw(f"samples/{missing[0]}.png is missing: run the study again to write it, without any trial")
    return {row: np.asarray(matplotlib.image.imread(path)) for row, path in paths.items()}
