"""A report's table as Markdown, and as LaTeX that can be pasted into a paper."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from fmim_reports.writing.formats import to_md, to_tex
from fmim_reports.writing.tables import Cell, Table


def markdown(table: Table) -> str:
    """Return a pipe table under its bold title, caption and notes."""
    lines = [f"**{to_md(table.title)}.** {to_md(table.caption)}", ""]
    if table.rows:
        lines.append(_md_line([to_md(column.about) for column in table.columns]))
        lines.append(f"|{'|'.join('---:' if column.numeric else ':---' for column in table.columns)}|")
        lines += [_md_line([_md_cell(cell) for cell in row.cells]) for rows in table.row_groups for row in rows]
    else:
        lines.append(to_md(table.empty))
    return "\n".join([*lines, "", *(f"- {to_md(note)}" for note in table.all_notes)]).rstrip() + "\n"


def _md_line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md_cell(cell: Cell) -> str:
    text = to_md(cell.text)
    return (f"**{text}**" if cell.best else text) + (f" (n = {cell.n})" if cell.n else "")


_NEEDS = r"% needs \usepackage{adjustbox,array,booktabs}; what is wider or higher than the page is made smaller"
_FLOAT_ROWS = 45
_COLUMN_CHARACTERS = 50  # of a row that a column of a paper of two holds; a longer one goes across the page
_LONG = 40  # characters of a text that is broken over lines
_LONG_TEXT = r">{\raggedright\arraybackslash}p{5cm}"
_SHORT = 12  # characters of a heading that is not
_END = (r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}")


def latex(table: Table) -> str:
    r"""Return a `table`, or a `table*` where a column of a page has no room for it, with \caption and \label.

    A table of more rows than a page holds goes on in further floats, the last of which has the notes.
    """
    rows = [row for group in table.row_groups for row in group]
    widths = [max((len(_text(row.cells[at])) for row in rows), default=0) for at in range(len(table.columns))]
    broken = [width > _LONG and not column.numeric for column, width in zip(table.columns, widths, strict=True)]
    kind = "table*" if sum(widths) + 2 * len(widths) > _COLUMN_CHARACTERS else "table"
    head = _head(table, widths, broken)
    body = ["\\midrule\n" * row.rule + _tex_line(list(map(_tex_cell, row.cells, broken))) for row in rows]
    title = to_tex(table.title)
    begins = [rf"\caption{{{title}. {to_tex(table.caption)}}}", rf"\label{{tab:{table.name.replace('_', '-')}}}"]
    lines = [_NEEDS]
    for begin in range(0, max(len(body), 1), _FLOAT_ROWS):
        lines += [rf"\begin{{{kind}}}[t]", *begins, r"\centering\footnotesize"]
        part = body[begin : begin + _FLOAT_ROWS]
        lines += [*head, *part, *_END] if part else [rf"\par\smallskip {to_tex(table.empty)}\par"]
        if begin + _FLOAT_ROWS >= len(body):
            lines += [rf"\par\smallskip\raggedright {to_tex(note)}\par" for note in table.all_notes]
        lines.append(rf"\end{{{kind}}}")
        begins = [r"\addtocounter{table}{-1}", rf"\caption{{{title} (continued).}}"]
    return "\n".join([*lines, ""])


def _head(table: Table, widths: Sequence[int], broken: Sequence[bool]) -> list[str]:
    """Return the lines of a tabular down to the headings; `widths` are the characters of the longest cells."""
    sides = ["r" if column.numeric else "l" for column in table.columns]
    heads = list(map(_stacked, (column.header for column in table.columns), widths, sides))
    alignment = [_LONG_TEXT if long else side for long, side in zip(broken, sides, strict=True)]
    return [
        r"\begin{adjustbox}{max totalsize={\linewidth}{0.8\textheight}}",
        rf"\begin{{tabular}}{{@{{}}{''.join(alignment)}@{{}}}}",
        r"\toprule",
        *_groups(table, widths),
        _tex_line(heads),
        r"\midrule",
    ]


def _text(cell: Cell) -> str:
    return cell.text + (f" ({cell.n.replace(' of ', '/')})" if cell.n else "")


def _tex_cell(cell: Cell, broken: bool) -> str:
    """Return a cell as LaTeX; where it is broken over lines, words may be within, as names of files."""
    text = to_tex(_text(cell))
    text = re.sub(r"\\_|/|\.(?=\w)", r"\g<0>\\allowbreak{}", text) if broken else text
    return rf"\textbf{{{text}}}" if cell.best else text


def _groups(table: Table, widths: Sequence[int]) -> list[str]:
    """Return the line of headings that neighbours share, with rules below them."""
    cells, rules, at = [], [], 0
    for heading, count in table.headings:
        cells.append(rf"\multicolumn{{{count}}}{{c}}{{{_stacked(heading, sum(widths[at : at + count]), 'c')}}}")
        rules += [rf"\cmidrule(lr){{{at + 1}-{at + count}}}"] if heading else []
        at += count
    return [_tex_line(cells), " ".join(rules)] if rules else []


def _stacked(heading: str, width: int, side: str) -> str:
    """Return a heading in lines as wide as the cells below it."""
    lines = [to_tex(line) for line in textwrap.wrap(heading, max(width, _SHORT))] or [""]
    return lines[0] if len(lines) == 1 else rf"\shortstack[{side}]{{" + r"\\".join(lines) + "}"


def _tex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
