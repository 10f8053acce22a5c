"""The files of a report: figures, tables, and the pages of several studies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmim_core.records import replacing, write_bytes
from fmim_reports.drawing.plotting import Plot
from fmim_reports.drawing.rendering import DrawnFigure, render
from fmim_reports.page.templates import filled
from fmim_reports.writing.markup import latex, markdown
from fmim_reports.writing.tables import Table, csv_lines


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
