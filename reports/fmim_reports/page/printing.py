"""The cells of a table on a page, and the size in which it is printed."""

from __future__ import annotations

from dataclasses import dataclass

from fmim_reports.writing.tables import Cell, Column, Table

_WHOLE = 26  # characters of a text that is not broken over lines
_POINTS, _SMALLEST = 7.5, 5.0  # of the text of printed tables
_UPRIGHT, _ACROSS = 105, 155  # characters of the larger that a line of an A4 page holds, upright and on its side


def cell_class(cell: Cell, column: Column) -> str:
    """Return the class of a cell in the style sheet."""
    return "num" if column.numeric else "whole" if len(cell.text) <= _WHOLE else ""


@dataclass(frozen=True)
class Print:
    """The print of a table on A4: across a page that lies on its side if it is `wide`; `size` of its text in points.

    Where even small text is too wide, words are `broken`, so that nothing is cut.
    """

    wide: bool
    size: float
    broken: bool


def print_of(table: Table) -> Print:
    """Return how a table is printed, by the characters that its columns need at least."""
    rows = [row.cells for group in table.row_groups for row in group]
    needed = sum(_characters(column, [row[at].text for row in rows]) for at, column in enumerate(table.columns))
    wide = needed > _UPRIGHT
    size = _POINTS * min(1.0, (_ACROSS if wide else _UPRIGHT) / max(needed, 1))
    return Print(wide, max(round(size, 1), _SMALLEST), size < _SMALLEST)


def _characters(column: Column, cells: list[str]) -> int:
    """Return how many characters a column needs, with margins: a number is not broken, a text is between words."""
    words = [word for text in [column.header, *([] if column.numeric else cells)] for word in text.split()]
    return 2 + max(map(len, [*words, *(cells if column.numeric else [])]), default=0)
