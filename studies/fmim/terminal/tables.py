"""Tables for any terminal: where one does not fit, or is not wanted, each row becomes lines of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fmim_core.records import without_controls

ANY = 10_000  # columns
CROWDED = 2.0  # a table is not made narrower than its width without breaks by more than this factor


@dataclass(frozen=True)
class Listing:
    """Rows of text under names of columns; the first column names the row.

    numbers: columns that are aligned to the right.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()

    def fitting(self, console: Console) -> RenderableType:
        """A table if it fits without many breaks, else lines, as on a terminal that is read out (TERM=dumb).

        Where the output is no terminal, any table fits: a row is one line, however long.
        """
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for place, column in enumerate(self.columns):
            if column in self.numbers:
                widest = max(map(cell_len, (column, *(row[place] for row in self.rows))))
                table.add_column(column, justify="right", no_wrap=True, min_width=widest)
            else:
                table.add_column(column)
        for row in self.rows:
            table.add_row(*map(_text, row))
        needs, width = Measurement.get(console, console.options.update(width=ANY), table), _width(console)
        fits = needs.minimum <= width and needs.maximum <= CROWDED * width
        return table if fits and not console.is_dumb_terminal else self.lines

    @property
    def lines(self) -> Text:
        """Each row as `first`, and below it `column: value` of the others that say something."""
        said = []
        for row in self.rows:
            said.append(without_controls(row[0]))
            others = zip(self.columns[1:], row[1:], strict=True)
            said += [f"  {column}: {without_controls(value)}" for column, value in others if value not in ("", "–")]
        return Text("\n".join(said))


def show(console: Console, *parts: RenderableType) -> None:
    """Print tables that `fitting` has made, and lines between them; nothing is wrapped where it is no terminal."""
    width = console.width
    try:
        console.width = _width(console)
        for part in parts:
            console.print(part, soft_wrap=not console.is_terminal, highlight=False)
    finally:
        console.width = width


def _width(console: Console) -> int:
    return console.width if console.is_terminal else ANY


def _text(cell: str) -> Text:
    return Text(without_controls(cell))
