"""A report's table as LaTeX that can be pasted into a paper and fits there, whether it has one column or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fmim_reports.reading.once import once
from fmim_reports.writing.formats import to_tex
from fmim_reports.writing.tables import Column, Table
from fmim_reports.writing.typesetting import Content, Layout, Panel, layout, lines_of, pieces

_NEEDS = r"% needs \usepackage{array,booktabs}"
_FITS = {
    False: "fits a column of article, IEEE or a page of LNCS",
    True: "fits a page of article, IEEE or LNCS",
}


@once
def latex(table: Table) -> str:
    r"""A `table`, or a `table*` where a column has no room for it, with \caption and \label.

    Letters have 8 points, or 7. What is wider than a page in these stands in panels (a), (b), …; what is longer than a
    page goes on in further floats. Needs the packages array and booktabs.
    """
    table = table.readable
    shared = _shared_n(table)
    contents = [_content(table, column, shared) for column in table.columns]
    notes = table.notes_with_best
    found = layout(contents, f"{table.title}. {table.caption}", notes)
    floats = [_float(table, contents, found, number) for number in range(len(found.rows))]
    return "\n".join([f"{_NEEDS}; {_FITS[found.across]}", *floats, ""])


def _content(table: Table, column: Column, shared: Mapping[str, str]) -> Content:
    group = column.group.replace("(n)", f"(n = {shared[column.group]})") if column.group in shared else column.group
    cells = [_cell(column, row, shared) for row in table.rows]
    return Content(column.header, group, cells, breaks=not column.numeric, bold=table.best_rows(column))


def _cell(column: Column, row: Mapping[str, Any], shared: Mapping[str, str]) -> str:
    n = "" if column.group in shared else column.n_text(row)
    return column.text(row) + (f" ({n.replace(' of ', '/')})" if n else "")


def _shared_n(table: Table) -> dict[str, str]:
    """The n of each group of columns whose heading has a place for it, (n), and whose cells all have the same one."""
    found: dict[str, set[str]] = {}
    for column in table.columns:
        if column.kind == "estimate" and "(n)" in column.group:
            found.setdefault(column.group, set()).update(column.n_text(row) for row in table.rows)
    return {group: counts.pop() for group, counts in found.items() if len(counts) == 1}


def _float(table: Table, contents: Sequence[Content], found: Layout, number: int) -> str:
    """One of the floats that a table takes, with the notes in the last."""
    kind, last = "table*" if found.across else "table", number == len(found.rows) - 1
    size = rf"\fontsize{{{found.size}}}{{{1.2 * found.size:g}}}\selectfont"
    caption = [
        rf"\caption{{{to_tex(table.title)}. {to_tex(table.caption)}}}",
        rf"\label{{tab:{table.name.replace('_', '-')}}}",
    ]
    again = [r"\addtocounter{table}{-1}", rf"\caption{{{to_tex(table.title)} (continued).}}"]
    several = len(found.panels) > 1
    parts = [
        line
        for place, panel in enumerate(found.panels)
        for line in (
            r"\par\smallskip" + (rf"({_letter(place)})\quad" if several else ""),
            *_tabular(table, contents, panel, found, found.rows[number]),
        )
    ]
    notes = [rf"\par\smallskip\raggedright {_broken(note)}\par" for note in table.notes_with_best if last]
    return "\n".join(
        [
            rf"\begin{{{kind}}}[t]",
            *(again if number else caption),
            rf"\centering\sloppy{size}\setlength{{\tabcolsep}}{{3pt}}",
            *(parts if table.rows else [rf"\par\smallskip {_broken(table.empty)}\par"]),
            *notes,
            rf"\end{{{kind}}}",
        ]
    )


def _letter(place: int) -> str:
    return chr(ord("a") + place)


def _tabular(table: Table, contents: Sequence[Content], panel: Panel, found: Layout, rows: range) -> list[str]:
    chosen = list(zip(panel.columns, panel.widths, strict=True))
    body = [_row(table.rows[at], [_set(contents[column], at, width) for column, width in chosen]) for at in rows]
    heads = [_heading(contents[column], width, found.size, table.columns[column].numeric) for column, width in chosen]
    return [
        rf"\begin{{tabular}}{{@{{}}{''.join(_alignment(table.columns[at], width) for at, width in chosen)}@{{}}}}",
        r"\toprule",
        *_groups(panel, found.size),
        " & ".join(heads) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _alignment(column: Column, width: float | None) -> str:
    if width is not None:
        return rf">{{\raggedright\arraybackslash}}p{{{width:.1f}pt}}"
    return "r" if column.numeric else "l"


def _heading(content: Content, width: float | None, size: int, right: bool) -> str:
    """The heading of a column, in as many lines as its cells leave it."""
    if width is not None:
        return _broken(content.heading)
    return _stacked(lines_of(content.heading, content.natural(size), size), "r" if right else "l")


def _groups(panel: Panel, size: int) -> list[str]:
    if not any(heading for heading, _, _ in panel.spans):
        return []
    cells, rules, at = [], [], 1
    for heading, count, width in panel.spans:
        cells.append(rf"\multicolumn{{{count}}}{{c}}{{{_stacked(lines_of(heading, width, size), 'c')}}}")
        if heading:
            rules.append(rf"\cmidrule(lr){{{at}-{at + count - 1}}}")
        at += count
    return [" & ".join(cells) + r" \\", " ".join(rules)]


def _stacked(lines: Sequence[str], side: str) -> str:
    if len(lines) == 1:
        return to_tex(lines[0])
    return rf"\shortstack[{side}]{{" + r"\\".join(map(to_tex, lines)) + "}"


def _row(row: Mapping[str, Any], cells: Sequence[str]) -> str:
    rule = "\\midrule\n" if row.get("rule") or row.get("total") else ""
    return rule + " & ".join(cells) + r" \\"


def _set(content: Content, at: int, width: float | None) -> str:
    """A cell as LaTeX, in bold letters where it is marked."""
    text = to_tex(content.cells[at]) if width is None else _broken(content.cells[at])
    return rf"\textbf{{{text}}}" if at in content.bold else text


def _broken(text: str) -> str:
    """A text of which long words may be broken."""
    return " ".join(r"\allowbreak{}".join(to_tex(piece) for piece in pieces(word)) for word in text.split(" "))
