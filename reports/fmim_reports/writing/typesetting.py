"""How a table is set in LaTeX: its size, the widths of its columns, its panels, and the floats it takes.

Widths are of Computer Modern Roman, LaTeX's own font and wider than most, so that what fits here fits in others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path

import matplotlib
from matplotlib.font_manager import get_font
from matplotlib.ft2font import LoadFlags

COLUMN, PAGE = 227.0, 345.0
"""Points: a column of a page in two (article 229.5, IEEE 252), and the text of LNCS (347), the narrowest page."""
SIZES = (8, 7)
"""Points of letters, as papers have them in tables; none is smaller than 7."""
GAP = 6.0  # points between columns
_HEIGHT = 490.0  # points that a float may be high: LNCS has 549, and captions are estimated
_OPTICAL = {8: 1.0625, 7: 1.139}  # letters of small sizes are wider than those of 10 points reduced
_BOLD = 1.16  # of the width of plain letters, at most: digits of cmbx have 0.575 em, of cmr 0.5
_OTHER_LETTER = 0.85  # em, of a letter that the font has in mathematics or not at all
_DIFFERENT = {"<": 0.78, ">": 0.78, "–": 0.5, "_": 0.6, "{": 0.5, "}": 0.5, "|": 0.3, "\\": 0.5, "−": 0.78, "±": 0.78}
_PIECE = 14  # letters of a word that stay together
_HEADING_LINES = 3
_SPARE = 2.0  # points of a line: widths of letters are added up, without what TeX puts between some
_COLUMN_LINES = 5  # of a cell in a table of a column's width; if there were more, it takes the page's


@cache
def _letters() -> dict[str, float]:
    """The width of each letter that the font has, in em."""
    font = get_font(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "cmr10.ttf")
    in_units = {chr(code): font.load_char(code, flags=LoadFlags.NO_SCALE).horiAdvance for code in range(33, 127)}
    return {letter: units / font.units_per_EM for letter, units in in_units.items()} | {" ": 1 / 3} | _DIFFERENT


@cache
def width_of(text: str, size: int) -> float:
    """Points that a line of text takes."""
    letters = _letters()
    return _OPTICAL[size] * size * math.fsum(letters.get(letter, _OTHER_LETTER) for letter in text)


def pieces(word: str) -> list[str]:
    """The parts of a word between which a line may end: after `_`, `.`, `/` and the like, and in long ones anywhere."""
    if len(word) <= _PIECE:
        return [word]
    return re.findall(rf"[^_./:,;=\-]{{1,{_PIECE}}}[_./:,;=\-]?|[_./:,;=\-]", word)


def lines_of(text: str, width: float, size: int) -> list[str]:
    """The text in lines of that width, broken between words; a longer word has a line of its own."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


@dataclass(frozen=True)
class Content:
    """What is set in a column: its heading, that of its group, its cells, and whether cells may take several lines.

    bold: the positions of the cells in bold letters.
    """

    heading: str
    group: str
    cells: Sequence[str]
    breaks: bool
    bold: frozenset[int] = frozenset()

    def natural(self, size: int) -> float:
        """Points of the widest cell in one line, with the heading in at most three."""
        return self._natural[size]

    def least(self, size: int) -> float:
        """The least width in which nothing sticks out."""
        return self._least[size]

    @cached_property
    def _natural(self) -> dict[int, float]:
        return {size: max([self.heading_width(size), *self._cell_widths(size)]) for size in SIZES}

    def _cell_widths(self, size: int) -> list[float]:
        return [(_BOLD if at in self.bold else 1.0) * width_of(cell, size) for at, cell in enumerate(self.cells)]

    @cached_property
    def _least(self) -> dict[int, float]:
        if not self.breaks:
            return self._natural
        words = {word for text in (self.heading, *self.cells) for word in text.split(" ")}
        parts = {piece for word in words for piece in pieces(word)}
        return {size: max(width_of(part, size) for part in parts) + 1 for size in SIZES}

    def heading_width(self, size: int) -> float:
        """The least width in which the heading has few lines."""
        words = [width_of(word, size) for word in self.heading.split(" ")]
        width = max(words)
        while len(lines_of(self.heading, width, size)) > _HEADING_LINES:
            width += 2
        return width

    def lines(self, width: float, size: int) -> list[int]:
        """Of each cell the lines that it takes."""
        return [
            max(len(lines_of(cell, width, size)), math.ceil(1.1 * width_of(cell, size) / width)) if self.breaks else 1
            for cell in self.cells
        ]


@dataclass(frozen=True)
class Panel:
    """The columns of a panel by their positions, with the width of each; None where it is as wide as its cells."""

    columns: tuple[int, ...]
    widths: tuple[float | None, ...]
    spans: tuple[tuple[str, int, float], ...]  # heading of neighbours, how many they are, and points for it


@dataclass(frozen=True)
class Layout:
    """How a table is set: across the page or in a column, in letters of a size, in panels, of rows to each float."""

    across: bool
    size: int
    panels: tuple[Panel, ...]
    rows: tuple[range, ...]


def layout(contents: Sequence[Content], caption: str, notes: Iterable[str]) -> Layout:
    """The narrowest layout with the largest letters in which nothing sticks out; in panels if no other is left."""
    for limit in (COLUMN, PAGE):
        for size in SIZES:
            panel = _panel(contents, range(len(contents)), limit, size)
            if panel is not None and (limit == PAGE or _tallest(contents, panel, size) <= _COLUMN_LINES):
                return Layout(limit == PAGE, size, (panel,), _floats(contents, [panel], size, limit, caption, notes))
    size = min(SIZES)
    found = _panels(contents, size)
    return Layout(True, size, tuple(found), _floats(contents, found, size, PAGE, caption, notes))


def _tallest(contents: Sequence[Content], panel: Panel, size: int) -> int:
    """The most lines of any cell."""
    given = [(contents[at], width) for at, width in zip(panel.columns, panel.widths, strict=True) if width is not None]
    return max((lines for content, width in given for lines in content.lines(width, size)), default=1)


def _panels(contents: Sequence[Content], size: int) -> list[Panel]:
    """Panels of the page's width: each has the leading columns of text; groups of columns stay together."""
    numbers = [at for at, content in enumerate(contents) if not content.breaks]
    keys = tuple(range(min([2, *numbers[:1]])))
    rest = range(len(keys), len(contents))
    groups = [tuple(found) for _, found in groupby(rest, key=lambda at: contents[at].group or at)]

    def fits(columns: Sequence[int]) -> Panel | None:
        return _panel(contents, (*keys, *columns), PAGE, size)

    units = [unit for group in groups for unit in ([group] if fits(group) else [(at,) for at in group])]
    panels: list[tuple[int, ...]] = [()]
    for unit in units:
        if panels[-1] and fits((*panels[-1], *unit)) is None:
            panels.append(())
        panels[-1] += unit
    found = [fits(columns) for columns in panels]
    return [panel for panel in found if panel is not None]


def _panel(contents: Sequence[Content], columns: Sequence[int], limit: float, size: int) -> Panel | None:
    """These columns within the limit; None if they do not fit. Text is broken into lines where it must be."""
    natural = [contents[at].natural(size) for at in columns]
    least = [contents[at].least(size) for at in columns]
    spans = [(group, len(list(found))) for group, found in groupby(contents[at].group for at in columns)]
    at = 0
    for group, count in spans:
        room = max((width_of(word, size) for word in group.split(" ")), default=0.0) - GAP * (count - 1)
        for widths in (natural, least):
            widths[at + count - 1] += max(0.0, room - sum(widths[at : at + count]))
        at += count
    room = limit - GAP * (len(columns) - 1) - _SPARE
    if sum(least) > room:
        return None
    widths = _shared(natural, least, room)
    given = tuple(
        width if contents[at].breaks and width < full else None
        for at, width, full in zip(columns, widths, natural, strict=True)
    )
    measured, at = [], 0
    for group, count in spans:
        measured.append((group, count, sum(widths[at : at + count]) + GAP * (count - 1)))
        at += count
    return Panel(tuple(columns), given, tuple(measured))


def _shared(natural: Sequence[float], least: Sequence[float], room: float) -> list[float]:
    """The natural widths, of which those above a common one are reduced to it, but none below its least."""
    low, high = 0.0, max(natural)
    while high - low > 0.05:
        middle = (low + high) / 2
        total = sum(max(small, min(full, middle)) for full, small in zip(natural, least, strict=True))
        low, high = (middle, high) if total <= room else (low, middle)
    if sum(natural) <= room:
        return list(natural)
    return [max(small, min(full, low)) for full, small in zip(natural, least, strict=True)]


def _floats(
    contents: Sequence[Content], panels: Sequence[Panel], size: int, limit: float, caption: str, notes: Iterable[str]
) -> tuple[range, ...]:
    """The rows of each float, so that none is higher than a page."""
    text = 12 * math.ceil(4.9 * len(caption) / limit) + sum(11 * math.ceil(4.4 * len(note) / limit) for note in notes)
    heads = len(panels) * 7 * 1.2 * size
    room = max(_HEIGHT - text - heads, 120.0)
    count = max((len(content.cells) for content in contents), default=0)
    heights = [0.0] * count
    for panel in panels:
        lines = [
            contents[at].lines(width, size) if width is not None else [1] * count
            for at, width in zip(panel.columns, panel.widths, strict=True)
        ]
        heights = [
            height + 1.25 * size * max(row) for height, row in zip(heights, zip(*lines, strict=True), strict=True)
        ]
    floats, begin, height = [], 0, 0.0
    for at, more in enumerate(heights):
        if height + more > room and at > begin:
            floats.append(range(begin, at))
            begin, height = at, 0.0
        height += more
    return (*floats, range(begin, count))
