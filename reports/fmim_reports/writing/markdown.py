"""A report's table as Markdown."""

from __future__ import annotations

from fmim_reports.writing.formats import to_md
from fmim_reports.writing.tables import Cell, Table


def markdown(table: Table) -> str:
    """Return a pipe table under its bold title, caption and notes."""
    lines = [f"**{to_md(table.title)}.** {to_md(table.caption)}", ""]
    if table.rows:
        lines.append(_line([to_md(column.about) for column in table.columns]))
        lines.append(f"|{'|'.join('---:' if column.numeric else ':---' for column in table.columns)}|")
        lines += [_line([_cell(cell) for cell in row.cells]) for rows in table.row_groups for row in rows]
    else:
        lines.append(to_md(table.empty))
    return "\n".join([*lines, "", *(f"- {to_md(note)}" for note in table.all_notes)]).rstrip() + "\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    text = to_md(cell.text)
    return (f"**{text}**" if cell.best else text) + (f" (n = {cell.n})" if cell.n else "")
