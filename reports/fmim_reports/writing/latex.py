"""A report's table as LaTeX that can be pasted into a paper and needs only booktabs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fmim_reports.writing.formats import to_tex
from fmim_reports.writing.tables import Table

_LONG = 30  # characters; a text column with a longer cell is set as a paragraph


def latex(table: Table) -> str:
    r"""A `table` (`table*` and smaller when wide) with \caption and \label; needs \usepackage{booktabs}."""
    wide = len(table.columns) > 5
    kind, size, gap = ("table*", r"\scriptsize", "3pt") if wide else ("table", r"\footnotesize", "4pt")
    shared = _shared_n(table)
    body = [_row(table, row, shared) for row in table.rows]
    empty = rf"\multicolumn{{{len(table.columns)}}}{{l}}{{{to_tex(table.empty)}}} \\"
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{{kind}}}[t]",
            rf"\centering{size}\setlength{{\tabcolsep}}{{{gap}}}",
            rf"\caption{{{to_tex(table.title)}. {to_tex(table.caption)}}}",
            rf"\label{{tab:{table.name.replace('_', '-')}}}\par\smallskip",
            rf"\begin{{tabular}}{{{_alignment(table)}}}",
            r"\toprule",
            *_groups(table, shared),
            " & ".join(to_tex(c.header) for c in table.columns) + r" \\",
            r"\midrule",
            *(body or [empty]),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\smallskip{{\footnotesize {to_tex(note)}\par}}" for note in table.notes if note),
            rf"\end{{{kind}}}",
            "",
        ]
    )


def _alignment(table: Table) -> str:
    longest = [max((len(c.text(row)) for row in table.rows), default=0) for c in table.columns]
    long = sum(length > _LONG for length in longest)
    share = max(0.2, 0.85 - 0.07 * (len(longest) - long)) / max(long, 1)
    paragraph = rf"p{{{share:.2f}\linewidth}}"
    return "".join(
        "r" if column.numeric else paragraph if length > _LONG else "l"
        for column, length in zip(table.columns, longest, strict=True)
    )


def _shared_n(table: Table) -> dict[str, str]:
    """The n of each group of columns whose heading has a place for it, (n), and whose cells all have the same one."""
    found: dict[str, set[str]] = {}
    for column in table.columns:
        if column.kind == "estimate" and "(n)" in column.group:
            found.setdefault(column.group, set()).update(column.n_text(row) for row in table.rows)
    return {group: counts.pop() for group, counts in found.items() if len(counts) == 1}


def _groups(table: Table, shared: Mapping[str, str]) -> list[str]:
    if not table.grouped:
        return []
    cells, rules, at = [], [], 1
    for heading, width in table.groups:
        text = heading.replace("(n)", f"(n = {shared[heading]})") if heading in shared else heading
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_stacked(text, 12 * width)}}}")
        if heading:
            rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return [" & ".join(cells) + r" \\", " ".join(rules)]


def _stacked(heading: str, room: int) -> str:
    """A heading wider than its columns, over two lines."""
    first, bracket, rest = heading.partition(" (")
    if len(heading) <= room or not bracket or len(rest) < 5:
        return to_tex(heading)
    return rf"\shortstack{{{to_tex(first)}\\({to_tex(rest)}}}"


def _row(table: Table, row: Mapping[str, Any], shared: Mapping[str, str]) -> str:
    cells = []
    for column in table.columns:
        n = "" if column.group in shared else column.n_text(row)
        cells.append(to_tex(column.text(row)) + (f" ({n.replace(' of ', '/')})" if n else ""))
    rule = "\\midrule\n" if row.get("rule") or row.get("total") else ""
    return rule + " & ".join(cells) + r" \\"
