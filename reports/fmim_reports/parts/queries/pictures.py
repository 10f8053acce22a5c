"""Pictures of images of the bank, which the runner has laid beside the records."""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib.image
import numpy as np
from matplotlib.axes import Axes

from fmim_reports.parts.queries.shown import ShownQuery
from fmim_reports.reading.results import Results
from fmim_reports.writing.plotting import INK, NothingToDraw

FOUND, MISSED = "#009E73", "#E69F00"  # green and orange as in the paper, in their colour-blind safe shades


def images_of(results: Results, shown: Iterable[ShownQuery]) -> dict[int, np.ndarray]:
    """The images of these queries by their rows.

    Raises:
        NothingToDraw: one is not there.
    """
    paths = {row: results.out / "samples" / f"{row}.png" for query in shown for row in query.rows}
    if missing := sorted(row for row, path in paths.items() if not path.is_file()):
        raise NothingToDraw(f"samples/{missing[0]}.png is missing: run the study again to write it, without any trial")
    return {row: np.asarray(matplotlib.image.imread(path)) for row, path in paths.items()}


def show(axes: Axes, image: np.ndarray, text: str, frame: str | None = None) -> None:
    """Draw an image with a text beneath, and a frame of that colour if one is given."""
    axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel(text, fontsize=7, labelpad=1, color=INK)
    for spine in axes.spines.values():
        spine.set_visible(frame is not None)
        spine.set_edgecolor(frame or INK)
        spine.set_linewidth(2)
