"""A table as pages show it: its cells, the best of each metric, and the size in which it is printed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from fmim_reports.writing.formats import to_html
from fmim_reports.writing.tables import Column, Table

_WHOLE = 26  # characters of a text that is not broken over lines
_POINTS, _SMALLEST = 7.5, 5.0  # of the text of printed tables
_UPRIGHT, _ACROSS = 105, 155  # characters of the larger that a line of an A4 page holds, upright and on its side


@dataclass(frozen=True)
class Cell:
    """A cell of the page: `value` is what its column is sorted by, `best` marks the best value of a metric."""

    html: Markup
    n: str
    short: bool
    css: str
    value: str
    best: bool


@dataclass(frozen=True)
class Row:
    """A row of the page; one of totals stays below those that it sums up."""

    total: bool
    cells: tuple[Cell, ...]


def row_groups(table: Table) -> list[list[Row]]:
    """The rows of a table between its lines, which are sorted by themselves."""
    best = {column.key: table.best_rows(column) for column in table.columns}
    return [
        [
            Row(
                total=bool(table.rows[i].get("total")),
                cells=tuple(_cell(column, table.rows[i], i in best[column.key]) for column in table.columns),
            )
            for i in group
        ]
        for group in table.row_groups
    ]


def _cell(column: Column, row: Mapping[str, object], best: bool) -> Cell:
    text, number = column.text(row), column.number(row)
    css = "num" if column.numeric else "whole" if len(text) <= _WHOLE else ""
    return Cell(
        html=Markup(to_html(text)),
        n=column.n_text(row),
        short=column.short(row),
        css=css,
        value="" if math.isnan(number) else repr(number),
        best=best,
    )


@dataclass(frozen=True)
class Print:
    """How a table is printed on A4: across a page that lies on its side if it is `wide`; `size` of its text in points.

    Where even small text is too wide, words are `broken`, so that nothing is cut.
    """

    wide: bool
    size: float
    broken: bool


def print_of(table: Table) -> Print:
    """By the characters that the columns of a table need at least."""
    needed = sum(_characters(table, column) for column in table.columns)
    wide = needed > _UPRIGHT
    size = _POINTS * min(1.0, (_ACROSS if wide else _UPRIGHT) / max(needed, 1))
    return Print(wide, max(round(size, 1), _SMALLEST), size < _SMALLEST)


def _characters(table: Table, column: Column) -> int:
    """How many characters a column needs at least, with margins: a number is not broken, a text is between words."""
    cells = [column.text(row) for row in table.rows]
    words = [word for text in [column.header, *([] if column.numeric else cells)] for word in text.split()]
    return 2 + max(map(len, [*words, *(cells if column.numeric else [])]), default=0)
