"""Sheets of images as one picture, to be read at the width of a page: rows of them with text below each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from fmim_core.data.image_set import matched_subjects
from fmim_core.data.images.limits import ImageProblem
from fmim_core.data.splits import shuffled_subjects

TILE, GAP, LINE, TITLE, FRAME = 200, 12, 29, 52, 5  # pixels
LARGE, SMALL = 26, 23  # text
PAPER, EMPTY, INK, QUIET = "#ffffff", "#e8ebee", "#1b1f24", "#5b6470"
MATCH = "#009E73"  # the green of the report's figures, in its colour-blind safe shade

Text = tuple[str, str]
"""A line of text and its colour."""
SHEET_ROWS, SHEET_VISITS = 8, 6  # at most: a page's height and width
SUBJECT = 190  # pixels
SIDE_WORDS = {"": "", "L": "left", "R": "right"}


@dataclass(frozen=True)
class Tile:
    """An image that `read` gives, if any, the lines below it, and the colour of a frame around it, if any."""

    read: Callable[[], np.ndarray] | None
    text: Sequence[Text]
    frame: str | None = None


@dataclass(frozen=True)
class Row:
    """Something on the left, and the tiles beside it, in as many lines as they need."""

    head: Tile
    tiles: Sequence[Tile]


def picture_sheet(title: str, rows: Sequence[Row], columns: int, head: int, footer: str = "") -> Image.Image:
    """Draw rows below each other; an image that cannot be read is a grey field with the reason.

    Args:
        columns: tiles in a line, at most. head: width of what is on the left, in pixels.
        footer: below all, broken between words.
    """
    width = GAP + head + columns * (GAP + TILE) + GAP
    steps = [TILE + LINE * max(len(tile.text) for tile in row.tiles) + GAP for row in rows]
    heights = [
        max(-(-len(row.tiles) // columns) * step, head * bool(row.head.read) + LINE * len(row.head.text) + GAP)
        for row, step in zip(rows, steps, strict=True)
    ]
    closing = wrapped(footer, width - 2 * GAP) if footer else []
    sheet = Image.new("RGB", (width, TITLE + sum(heights) + LINE * len(closing) + GAP), PAPER)
    _write(sheet, (GAP, GAP), (title, INK), width - 2 * GAP, LARGE)
    top = TITLE
    for row, step, height in zip(rows, steps, heights, strict=True):
        _draw(sheet, (GAP, top), head, row.head)
        for number, tile in enumerate(row.tiles):
            line, column = divmod(number, columns)
            _draw(sheet, (GAP + head + GAP + column * (TILE + GAP), top + line * step), TILE, tile)
        top += height
        ImageDraw.Draw(sheet).line((GAP, top - GAP / 2, width - GAP, top - GAP / 2), fill=EMPTY, width=2)
    for number, text in enumerate(closing):
        _write(sheet, (GAP, top + number * LINE), (text, QUIET), width - 2 * GAP)
    return sheet


def wrapped(text: str, width: float) -> list[str]:
    """Return small text as lines that are no wider than `width` pixels, broken between words."""
    font, lines = ImageFont.load_default(SMALL), [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _draw(sheet: Image.Image, corner: tuple[int, int], side: int, tile: Tile) -> None:
    """Draw the image in a square as large as its aspect allows, and its text below."""
    left, top = corner
    if tile.read:
        box = (left, top, left + side - 1, top + side - 1)
        try:
            image = Image.fromarray(tile.read())
            scale = side / max(image.size)
            image = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
            sheet.paste(image, (left + (side - image.width) // 2, top + (side - image.height) // 2))
        except ImageProblem as problem:
            ImageDraw.Draw(sheet).rectangle(box, fill=EMPTY)
            _write(sheet, (left + 8, top + side // 2 - 12), (problem.reason, INK), side - 16)
        if tile.frame:
            ImageDraw.Draw(sheet).rectangle(box, outline=tile.frame, width=FRAME)
        top += side + 2
    for number, text in enumerate(tile.text):
        _write(sheet, (left, top + number * LINE), text, side)


def _write(sheet: Image.Image, corner: tuple[int, int], text: Text, width: int, size: int = SMALL) -> None:
    """Write one line of text, cut with an ellipsis where it is too wide."""
    (shown, color), font = text, ImageFont.load_default(size)
    while len(shown) > 1 and font.getlength(shown) > width:
        shown = shown[:-2] + "…"
    ImageDraw.Draw(sheet).text(corner, shown, fill=color, font=font)


def contact_sheet(title: str, rows: Sequence[Row]) -> Image.Image:
    """Draw the rows of `contact_rows`, a column a visit.

    Raises:
        ValueError: no rows, so nothing to show.
    """
    if not rows:
        raise ValueError("a contact sheet needs at least one image: none is there")
    return picture_sheet(title, rows, max(3, *(len(row.tiles) for row in rows)), SUBJECT)


def contact_rows(
    index: pd.DataFrame, rows: Sequence[int], read: Callable[[int], np.ndarray], mirrored: bool
) -> list[Row]:
    """Return up to `SHEET_ROWS` rows of subjects with a baseline image and a later one, each of a side, drawn by hash.

    Development subjects are taken where there are such; a data set without longitudinal subjects shows any.

    Args:
        rows: of the index, whose images are there; `read` gives the image of one.
        mirrored: whether right images come mirrored from `read`; the labels say so.
    """
    usable = index.reset_index(drop=True).iloc[list(rows)].dropna(subset=["subject"])
    train = usable[usable["split"] == "train"]
    pools = (matched_subjects(train), matched_subjects(usable), set(usable["subject"]))
    found: list[Row] = []
    for subject in shuffled_subjects(next((pool for pool in pools if pool), set()), "sheet", 0)[:SHEET_ROWS]:
        sides = usable[usable["subject"] == subject].groupby("side", sort=True)
        if len(found) + len(sides) <= SHEET_ROWS:
            found += [_row(subject, str(side), part, read, mirrored) for side, part in sides]
    return found


def _row(subject: str, side: str, part: pd.DataFrame, read: Callable[[int], np.ndarray], mirrored: bool) -> Row:
    """Return the visits in their order, each by its first image; of more than fit, the first, last, some between.

    Where no visit has a month, its images are shown instead.
    """
    dated = part["months"].notna().any()
    visits = [images for _, images in part.groupby("months" if dated else part.index, dropna=False, sort=True)]
    shown = np.unique(np.linspace(0, len(visits) - 1, min(SHEET_VISITS, len(visits))).round().astype(int))
    tiles = []
    for images in (visits[position] for position in shown):
        text = visit_name(images["months"].iloc[0]) if dated else PurePath(images["image"].iloc[0]).stem
        text += f" (1 of {len(images)})" if len(images) > 1 else ""
        tiles.append(Tile(partial(read, int(images.index[0])), [(text, QUIET)]))
    label = SIDE_WORDS[side] + (" (mirrored)" if mirrored and side == "R" else "")
    more = [f"{len(shown)} of {len(visits)} {'visits' if dated else 'images'}"] if len(visits) > len(shown) else []
    return Row(Tile(None, [(subject, INK), *((text, QUIET) for text in (label, *more))]), tiles)


def visit_name(months: float) -> str:
    """Return a visit by its months after baseline (NaN: unknown), in words."""
    return "month unknown" if np.isnan(months) else "baseline" if months == 0 else f"month {round(months, 2):g}"
