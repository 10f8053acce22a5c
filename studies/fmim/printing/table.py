"""A table for any terminal: where it does not fit, or is not wanted, each row becomes lines of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fmim_core.records import without_controls

ANY = 10_000  # columns
CROWDED = 2.0  # a table is not made narrower than its width without breaks by more than this factor


@dataclass(frozen=True)
class TextTable:
    """Rows of text under names of columns; the first column names the row.

    It is drawn as a table if it fits without many breaks, else as lines, as on a terminal that is read out (TERM=dumb).
    Where the output is no terminal, any table fits: a row is one line, however long.

    numbers: columns that are aligned to the right.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it as wide as there is room."""
        table, wide = self._table, options.update(width=ANY)
        if not console.is_terminal:
            yield from console.render(table, wide)
            return
        needs, width = Measurement.get(console, wide, table), options.max_width
        fits = needs.minimum <= width and needs.maximum <= CROWDED * width
        yield table if fits and not console.is_dumb_terminal else self._lines

    @property
    def _table(self) -> Table:
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for place, column in enumerate(self.columns):
            if column in self.numbers:
                widest = max(map(cell_len, (column, *(row[place] for row in self.rows))))
                table.add_column(column, justify="right", no_wrap=True, min_width=widest)
            else:
                table.add_column(column)
        for row in self.rows:
            table.add_row(*(Text(without_controls(cell)) for cell in row))
        return table

    @property
    def _lines(self) -> Text:
        """Each row as `first`, and below it `column: value` of the others that say something."""
        said = []
        for row in self.rows:
            others = zip(self.columns[1:], row[1:], strict=True)
            said += [row[0], *(f"  {column}: {value}" for column, value in others if value not in ("", "–"))]
        return Text("\n".join(map(without_controls, said)))
