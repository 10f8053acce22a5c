"""What is printed: text as it is, tables for any terminal, and progress bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import MofNCompleteColumn, Progress
from rich.table import Table
from rich.text import Text

from fmim_core.records import without_controls


class TextConsole(Console):
    """A console for text that others wrote, such as names and paths: nothing in it is markup, or moves the cursor."""

    def say(self, text: object, lead: str = "", style: str = "") -> None:
        """Print a line, which never breaks: its lead in the style, or all of it where it has none."""
        shown = Text(without_controls(f"{lead} {text}" if lead else str(text)))
        shown.stylize(style, 0, len(lead) or None)
        self.print(shown, soft_wrap=True, highlight=False)

    def warn(self, text: object) -> None:
        """Print what to know of, though nothing ends by it."""
        self.say(text, style="yellow")

    def error(self, problem: object) -> None:
        """Print what is wrong."""
        self.say(problem, lead="error:", style="red")

    def stage(self, text: str) -> None:
        """Print what begins now, and may take seconds."""
        self.say(f"{text} …", style="dim")

    def show(self, *parts: RenderableType) -> None:
        """Print tables, and what else rich can draw, below each other; where there is no terminal no line breaks."""
        for part in parts:
            self.print(part, soft_wrap=not self.is_terminal, highlight=False)


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


class ProgressBar:
    """Shows itself from the first progress until all is done or the block ends, where the console is a terminal.

    called: whether there was any progress.
    """

    def __init__(self, what: str, console: TextConsole) -> None:
        columns = (*Progress.get_default_columns(), MofNCompleteColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task(escape(without_controls(what)))
        self.called, self._drawn = False, False

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._drawn:
            self._bar.stop()
            self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Show how much is done."""
        if not self._drawn:
            self._bar.start()
        self.called = self._drawn = True
        self._bar.update(self._task, completed=done, total=total)
        if done >= total:
            self.__exit__()


def warn(problem: str) -> None:
    """Say on standard error what to know of, though nothing ends by it."""
    TextConsole(stderr=True).say(problem, lead="warning:", style="yellow")
