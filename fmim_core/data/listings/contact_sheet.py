"""A contact sheet: some subjects over their visits, to see at a glance whether a data set is what it claims to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from fmim_core.data.images.drawing import EMPTY, GAP, INK, LARGE, PAPER, QUIET, SMALL, place, write
from fmim_core.data.listings.check import Read
from fmim_core.data.listings.listing import matched_subjects
from fmim_core.data.splits import shuffled_subjects

LINES, VISITS = 8, 6  # at most: a page's width and height
TILE, LABEL, CAPTION, TITLE = 200, 190, 36, 52  # pixels
SIDES = {"": "", "L": "left", "R": "right"}


@dataclass(frozen=True)
class Line:
    """One line of a sheet: a subject's images of one side.

    visits: of each that is shown its months (NaN: unknown), the row number of its first image, and how many it has.
    of: all visits there are.
    """

    subject: str
    side: str
    visits: tuple[tuple[float, int, int], ...]
    of: int


def sheet_lines(index: pd.DataFrame, rows: Sequence[int]) -> list[Line]:
    """Up to `LINES` lines of subjects with a baseline image and a later one, drawn by hash from `rows` of the index.

    Development subjects are taken where there are such; a data set without longitudinal subjects shows any.
    """
    usable = index.reset_index(drop=True).iloc[list(rows)].dropna(subset=["subject"])
    train = usable[usable["split"] == "train"]
    pools = (matched_subjects(train), matched_subjects(usable), set(usable["subject"]))
    subjects = shuffled_subjects(next((pool for pool in pools if pool), set()), "sheet", 0)
    lines: list[Line] = []
    for subject in subjects[:LINES]:
        own = usable[usable["subject"] == subject]
        of_sides = [_line(subject, str(side), part) for side, part in own.groupby("side", sort=True)]
        if len(lines) + len(of_sides) <= LINES:
            lines += of_sides
    return lines


def _line(subject: str, side: str, part: pd.DataFrame) -> Line:
    """The visits in their order; of more than fit, the first, the last, and those evenly between."""
    visits = [
        (float(str(months)), int(images.index[0]), len(images))
        for months, images in part.groupby("months", dropna=False, sort=True)
    ]
    shown = np.unique(np.linspace(0, len(visits) - 1, min(VISITS, len(visits))).round().astype(int))
    return Line(subject, side, tuple(visits[position] for position in shown), len(visits))


def contact_sheet(title: str, lines: Sequence[Line], read: Read, mirrored: bool) -> Image.Image:
    """The lines as a picture: a column a visit, its months below each image, aspects kept.

    Args:
        read: an image of a row number; one that cannot be read is a grey field with the reason.
        mirrored: whether right images come mirrored from `read`; the labels say so.

    Raises:
        ValueError: no lines, so nothing to show.
    """
    if not lines:
        raise ValueError("there is no image to show on a contact sheet")
    columns = max(len(line.visits) for line in lines)
    step = TILE + CAPTION + GAP
    size = (LABEL + max(columns, 3) * (TILE + GAP) + GAP, TITLE + len(lines) * step + GAP)
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    write(draw, (GAP, GAP), title, LARGE, INK, size[0] - 2 * GAP)
    for number, line in enumerate(lines):
        top = TITLE + number * step
        if number == 0 or lines[number - 1].subject != line.subject:
            draw.line((GAP, top - GAP / 2, size[0] - GAP, top - GAP / 2), fill=EMPTY)
            write(draw, (GAP, top + 4), line.subject, LARGE, INK, LABEL - 2 * GAP)
        side = SIDES[line.side] + (" (mirrored)" if mirrored and line.side == "R" else "")
        write(draw, (GAP, top + 40), side, SMALL, QUIET, LABEL - 2 * GAP)
        if line.of > len(line.visits):
            write(draw, (GAP, top + 76), f"{len(line.visits)} of {line.of} visits", SMALL, QUIET, LABEL - 2 * GAP)
        for column, (months, row, images) in enumerate(line.visits):
            left = LABEL + column * (TILE + GAP)
            place(sheet, (left, top), TILE, partial(read, row))
            more = f" (1 of {images})" if images > 1 else ""
            write(draw, (left, top + TILE + 2), visit_name(months) + more, SMALL, QUIET, TILE)
    return sheet


def visit_name(months: float) -> str:
    """A visit by its months after baseline (NaN: unknown), in words."""
    return "month unknown" if np.isnan(months) else "baseline" if months == 0 else f"month {round(months, 2):g}"
