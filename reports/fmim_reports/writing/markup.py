"""A report's table as Markdown, and as LaTeX that can be pasted into a paper."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING

from fmim_reports.writing.formats import to_md, to_tex

if TYPE_CHECKING:
    from fmim_reports.writing.tables import Cell, Row, Table


def markdown(table: Table) -> str:
    """Return a pipe table under its bold title, caption and notes."""
    lines = [f"**{to_md(table.title)}.** {to_md(table.caption)}", ""]
    if table.rows:
        heads = [f"{one.about}, n = {table.n[one.key]}" if one.key in table.n else one.about for one in table.columns]
        lines.append(_md_line(list(map(to_md, heads))))
        lines.append(f"|{'|'.join('---:' if column.numeric else ':---' for column in table.columns)}|")
        lines += [_md_line([_md_cell(cell) for cell in row.cells]) for rows in table.row_groups for row in rows]
    else:
        lines.append(to_md(table.empty))
    notes = [f"- {to_md(note)}" for note in (*table.all_notes, table.how) if note]
    return "\n".join([*lines, "", *notes]).rstrip() + "\n"


def _md_line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md_cell(cell: Cell) -> str:
    text = to_md(cell.text)
    return (f"**{text}**" if cell.best else text) + (f" (n = {cell.n})" if cell.n else "")


_NEEDS = r"% needs \usepackage{array,booktabs,graphicx}"
_NARROW = 4  # columns that a column of a page in two has room for
_LONG = 20  # characters of a text that is broken over lines
_LONG_TEXT = r">{\raggedright\arraybackslash}p{3.2cm}"
_SHORT = 12  # characters of a heading that is not
_LINES = 40  # that a page has room for
_NARROW_LINE, _WIDE_LINE = 45, 90  # characters of a line of a caption or note
_FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{"


def latex(table: Table) -> str:
    r"""Return a `table`, or a `table*` where a column of a page in two has no room for it, with \caption and \label.

    It has no columns that are `more`, and is set in \small, or smaller where a line has no room for it. One of more
    rows than a page holds goes on in further floats, the last of which has the notes.
    """
    left = f"; all columns: tables/{table.name}.csv" if table.rest else ""
    return "\n".join([_NEEDS + left, *_floats(table.main), ""])


def _floats(table: Table) -> Iterator[str]:
    kind, line = ("table*", _WIDE_LINE) if len(table.columns) > _NARROW else ("table", _NARROW_LINE)
    title = to_tex(table.title)
    begins = [rf"\caption{{{title}. {to_tex(table.caption)}}}", rf"\label{{tab:{table.name.replace('_', '-')}}}"]
    texts = sum(1 + len(text) // line for text in (f"{table.title} {table.caption}", *table.all_notes))
    pages, (widths, broken) = _pages(table, max(_LINES - texts, _LINES // 4)), _widths(table)
    rows, head = _rows(table), _head(table, widths, broken)
    for page in pages:
        yield from (rf"\begin{{{kind}}}[t]", *begins, r"\centering\small\setlength{\tabcolsep}{3pt}")
        if table.rows:
            yield from (*head, *_body(rows[page], broken), r"\bottomrule", r"\end{tabular}}\par\smallskip")
        else:
            yield rf"\par\smallskip {to_tex(table.empty)}\par"
        if page is pages[-1]:
            yield from (rf"\par\smallskip\raggedright {to_tex(note)}\par" for note in table.all_notes)
        yield rf"\end{{{kind}}}"
        begins = [r"\addtocounter{table}{-1}", rf"\caption{{{title} (continued).}}"]


def _body(rows: Sequence[Row], broken: Sequence[bool]) -> list[str]:
    """Return the rows of a page."""
    ruled = [row.rule and row is not rows[0] for row in rows]
    return [
        "\\midrule\n" * rule + _tex_line(list(map(_tex_cell, row.cells, broken)))
        for row, rule in zip(rows, ruled, strict=True)
    ]


def _rows(table: Table) -> list[Row]:
    return [row for group in table.row_groups for row in group]


def _pages(table: Table, most: int) -> list[slice]:
    """Return which rows each page holds, of so many lines."""
    texts = ([cell.text for cell in row.cells] for row in _rows(table))
    lines = accumulate(max(len(textwrap.wrap(s, _LONG - 1)) if len(s) >= _LONG else 1 for s in row) for row in texts)
    ends = list(accumulate(len(list(page)) for _, page in groupby(lines, lambda line: line // most)))
    return [slice(start, end) for start, end in pairwise([0, *ends])] or [slice(0)]


def _widths(table: Table) -> tuple[list[int], list[bool]]:
    """Return the characters of the longest cell of each column, and whether its text is broken over lines."""
    texts = [[len(_text(cell)) + 2 * cell.best for cell in row.cells] for row in _rows(table)]  # bold is wider
    longest = [max(lengths) for lengths in zip(*texts, strict=True)] or [0] * len(table.columns)
    broken = [width > _LONG and not column.numeric for column, width in zip(table.columns, longest, strict=True)]
    return [min(width, _LONG) if long else width for width, long in zip(longest, broken, strict=True)], broken


def _head(table: Table, widths: Sequence[int], broken: Sequence[bool]) -> list[str]:
    """Return the lines of a tabular down to the headings; `widths` are the characters of the longest cells."""
    sides = ["r" if column.numeric else "l" for column in table.columns]
    heads = list(map(_stacked, table.headers, widths, sides))
    alignment = [_LONG_TEXT if long else side for long, side in zip(broken, sides, strict=True)]
    return [
        rf"{_FITTED}\begin{{tabular}}{{@{{}}{''.join(alignment)}@{{}}}}",
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
    lines = list(map(to_tex, _lines(heading, width)))
    return lines[0] if len(lines) == 1 else rf"\shortstack[{side}]{{" + r"\\".join(lines) + "}"


def _lines(heading: str, width: int) -> list[str]:
    return textwrap.wrap(heading, max(width, _SHORT)) or [""]


def _tex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
