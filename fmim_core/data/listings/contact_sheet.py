"""A contact sheet: some subjects over their visits, to see at a glance whether a data set is what it claims to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from PIL import Image

from fmim_core.data.images.sheet import INK, QUIET, Row, Tile, picture_sheet
from fmim_core.data.roles import matched_subjects
from fmim_core.data.splits import shuffled_subjects

ROWS, VISITS = 8, 6  # at most: a page's height and width
SUBJECT = 190  # pixels
SIDES = {"": "", "L": "left", "R": "right"}


def contact_sheet(title: str, rows: Sequence[Row]) -> Image.Image:
    """Draw the rows of `contact_rows`, a column a visit.

    Raises:
        ValueError: no rows, so nothing to show.
    """
    if not rows:
        raise ValueError("there is no image to show on a contact sheet")
    return picture_sheet(title, rows, max(3, *(len(row.tiles) for row in rows)), SUBJECT)


def contact_rows(
    index: pd.DataFrame, rows: Sequence[int], read: Callable[[int], np.ndarray], mirrored: bool
) -> list[Row]:
    """Return up to `ROWS` rows of subjects with a baseline image and a later one, each of one side, drawn by hash.

    Development subjects are taken where there are such; a data set without longitudinal subjects shows any.

    Args:
        rows: of the index, whose images are there; `read` gives the image of one.
        mirrored: whether right images come mirrored from `read`; the labels say so.
    """
    usable = index.reset_index(drop=True).iloc[list(rows)].dropna(subset=["subject"])
    train = usable[usable["split"] == "train"]
    pools = (matched_subjects(train), matched_subjects(usable), set(usable["subject"]))
    found: list[Row] = []
    for subject in shuffled_subjects(next((pool for pool in pools if pool), set()), "sheet", 0)[:ROWS]:
        sides = usable[usable["subject"] == subject].groupby("side", sort=True)
        if len(found) + len(sides) <= ROWS:
            found += [_row(subject, str(side), part, read, mirrored) for side, part in sides]
    return found


def _row(subject: str, side: str, part: pd.DataFrame, read: Callable[[int], np.ndarray], mirrored: bool) -> Row:
    """Return the visits in their order, each by its first image; of more than fit, the first, last, some between."""
    visits = list(part.groupby("months", dropna=False, sort=True))
    shown = np.unique(np.linspace(0, len(visits) - 1, min(VISITS, len(visits))).round().astype(int))
    tiles = []
    for months, images in (visits[position] for position in shown):
        text = visit_name(float(str(months))) + (f" (1 of {len(images)})" if len(images) > 1 else "")
        tiles.append(Tile(partial(read, int(images.index[0])), [(text, QUIET)]))
    label = SIDES[side] + (" (mirrored)" if mirrored and side == "R" else "")
    more = [f"{len(shown)} of {len(visits)} visits"] if len(visits) > len(shown) else []
    return Row(Tile(None, [(subject, INK), *((text, QUIET) for text in (label, *more))]), tiles)


def visit_name(months: float) -> str:
    """Return a visit by its months after baseline (NaN: unknown), in words."""
    return "month unknown" if np.isnan(months) else "baseline" if months == 0 else f"month {round(months, 2):g}"
