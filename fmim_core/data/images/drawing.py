"""What sheets of images are drawn with: an image in a square, a line of text, and their colours and sizes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from fmim_core.data.images.limits import ImageProblem

GAP = 12  # pixels
LARGE, SMALL = 26, 23  # text, to be read at the width of a page
PAPER, INK, QUIET, EMPTY = "#ffffff", "#1b1f24", "#5b6470", "#e8ebee"


def place(sheet: Image.Image, corner: tuple[int, int], side: int, read: Callable[[], np.ndarray]) -> None:
    """The grey image that `read` gives, in a square as large as its aspect allows; or why it cannot be read."""
    left, top = corner
    try:
        image = Image.fromarray(read())
    except ImageProblem as problem:
        draw = ImageDraw.Draw(sheet)
        draw.rectangle((left, top, left + side - 1, top + side - 1), fill=EMPTY)
        write(draw, (left + 8, top + side // 2 - 12), problem.reason, SMALL, INK, side - 16)
        return
    scale = side / max(image.size)
    image = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))))
    sheet.paste(image, (left + (side - image.width) // 2, top + (side - image.height) // 2))


def write(draw: ImageDraw.ImageDraw, at: tuple[float, float], text: str, size: int, color: str, width: float) -> None:
    """One line of text, cut with an ellipsis where it is too wide."""
    font = ImageFont.load_default(size)
    shown = text
    while len(shown) > 1 and draw.textlength(shown, font) > width:
        shown = shown[:-2] + "…"
    draw.text(at, shown, fill=color, font=font)


def wrapped(text: str, size: int, width: float) -> list[str]:
    """The text as lines that are no wider than `width` pixels, broken between words."""
    font, lines = ImageFont.load_default(size), [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".lstrip()
        if font.getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
