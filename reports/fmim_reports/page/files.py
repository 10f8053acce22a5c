"""The files of figures and tables beside a page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fmim_core.records import replacing, write_bytes
from fmim_reports.drawing.plotting import DrawnFigure, Plot, render
from fmim_reports.writing.latex import latex
from fmim_reports.writing.markdown import markdown
from fmim_reports.writing.tables import Table, csv_parts


def write_figures(plots: Iterable[Plot], source: str, report: Path) -> list[DrawnFigure]:
    """Draw figures into `report`/figures as PNG and SVG; return them."""
    figures = []
    for plot in plots:
        figure = render(plot, source)
        write_bytes(report / "figures" / f"{plot.name}.png", figure.png)
        write_bytes(report / "figures" / f"{plot.name}.svg", figure.svg)
        figures.append(figure)
    return figures


def write_table(table: Table, folder: Path, csv_alone: bool = False) -> None:
    """Write a table into `folder`/tables as CSV, Markdown and LaTeX; or as CSV alone, which programs read."""
    with replacing(folder / "tables" / f"{table.name}.csv") as file:
        file.writelines(part.encode() for part in csv_parts(table))
    if not csv_alone:
        write_bytes(folder / "tables" / f"{table.name}.md", markdown(table).encode())
        write_bytes(folder / "tables" / f"{table.name}.tex", latex(table).encode())
