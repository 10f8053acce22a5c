"""The files of a report: templates filled with values, figures and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from fmim_core.records import replacing, without_controls, write_bytes
from fmim_reports.drawing.plotting import Plot
from fmim_reports.drawing.rendering import DrawnFigure, render
from fmim_reports.writing.captions import without_data
from fmim_reports.writing.formats import to_html, to_md
from fmim_reports.writing.markup import latex, markdown
from fmim_reports.writing.tables import Cell, Column, Table, csv_lines


def write_figures(plots: Iterable[Plot], source: str, report: Path) -> list[DrawnFigure]:
    """Draw figures into `report`/figures as PNG, SVG and PDF; return them."""
    figures = []
    for plot in plots:
        figure = render(plot, source)
        for ending, content in figure.files.items():
            write_bytes(report / "figures" / f"{plot.name}.{ending}", content)
        figures.append(figure)
    return figures


def write_table(table: Table, folder: Path, csv_alone: bool = False) -> None:
    """Write a table into `folder`/tables as CSV, Markdown and LaTeX; or as CSV alone, which programs read."""
    with replacing(folder / "tables" / f"{table.name}.csv") as file:
        file.writelines(line.encode() for line in csv_lines(table))
    if not csv_alone:
        write_bytes(folder / "tables" / f"{table.name}.md", markdown(table).encode())
        write_bytes(folder / "tables" / f"{table.name}.tex", latex(table).encode())


def filled(template: str, **values: Any) -> bytes:
    """Return a template of this folder filled with values; no two lines of Markdown in a row are empty."""
    text = _environment().get_template(template).render(**values)
    return (re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n" if template.endswith(".md.j2") else text).encode()


@dataclass(frozen=True)
class Part:
    """A part of a report of several studies; of its heading, the contents show what stands before a colon.

    studies: the folders, beside that of the report, of the studies that it is from.
    """

    heading: str
    tables: Sequence[Table] = ()
    folded: Sequence[Table] = ()
    figures: Sequence[DrawnFigure] = ()
    notes: Sequence[str] = ()
    studies: Sequence[str] = ()

    @property
    def every_table(self) -> list[Table]:
        """Its tables, and those that the page folds."""
        return [*self.tables, *self.folded]


def write_several(report: Path, parts: Sequence[Part], **said: Any) -> Path:
    """Write `report`/index.html, report.md and each table under tables/; return the page.

    said: `title`, `question`, `data`, `synthetic`, `warnings`, `lead`, and the `findings` below this.
    """
    for part in parts:
        for table in part.every_table:
            write_table(table, report)
    write_bytes(report / "report.md", filled("several.md.j2", parts=parts, **said))
    write_bytes(report / "index.html", filled("several.html.j2", parts=parts, **said))
    return report / "index.html"


@cache
def _environment() -> jinja2.Environment:
    """Return the templates, compiled once; names are text in them, and a value that is not there is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fmim_reports", "page"),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=jinja2.StrictUndefined,
        # not of markup, which has been made so
        finalize=lambda value: without_controls(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(sym=lambda text: Markup(to_html(text)), md=to_md, without_data=without_data)
    environment.globals.update(cell_class=cell_class, latex=latex, markdown=markdown)
    return environment


_WHOLE = 26  # characters of a text that is not broken over lines


def cell_class(cell: Cell, column: Column) -> str:
    """Return the class of a cell in the style sheet."""
    return "num" if column.numeric else "whole" if len(cell.text) <= _WHOLE else ""
