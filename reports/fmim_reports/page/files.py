"""The files of figures and tables beside a page."""

from __future__ import annotations

from pathlib import Path

from fmim_core.records import write_bytes
from fmim_reports.drawing.plotting import Plot, render
from fmim_reports.page.render import DrawnFigure
from fmim_reports.writing.latex import latex
from fmim_reports.writing.markdown import markdown
from fmim_reports.writing.tables import Table, to_csv


def write_figure(plot: Plot, source: str, report: Path) -> DrawnFigure:
    """Draw a figure into `report`/figures as PNG and SVG; with its drawing as it goes into the page."""
    drawing = render(plot, source)
    write_bytes(report / "figures" / f"{plot.name}.png", drawing.png)
    write_bytes(report / "figures" / f"{plot.name}.svg", drawing.svg)
    return DrawnFigure(plot, drawing.inline)


def write_table(table: Table, folder: Path) -> None:
    """Write a table into `folder`/tables as CSV, Markdown and LaTeX."""
    write_data(table, folder)
    write_bytes(folder / "tables" / f"{table.name}.md", markdown(table).encode())
    write_bytes(folder / "tables" / f"{table.name}.tex", latex(table).encode())


def write_data(table: Table, folder: Path) -> None:
    """Write a table into `folder`/tables as CSV alone, which programs read."""
    write_bytes(folder / "tables" / f"{table.name}.csv", to_csv(table).encode())
