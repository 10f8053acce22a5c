"""The files of figures and tables beside a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from fmim_core.records import replacing, write_bytes
from fmim_reports.drawing.plotting import DrawnFigure, NothingToDraw, Plot, render
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import source_line
from fmim_reports.writing.latex import latex
from fmim_reports.writing.markdown import markdown
from fmim_reports.writing.tables import Table, csv_parts

Name = TypeVar("Name", str, int)


def write_figures(
    makes: Mapping[Name, Callable[[Results], Plot]], results: Results, report: Path
) -> tuple[list[DrawnFigure], dict[Name, str]]:
    """Draw figures into `report`/figures as PNG and SVG; return them, and why others of these names are not drawn."""
    figures: list[DrawnFigure] = []
    not_drawn: dict[Name, str] = {}
    for name, make in makes.items():
        try:
            plot = make(results)
        except NothingToDraw as nothing:
            not_drawn[name] = str(nothing)
            continue
        figure = render(plot, source_line(results))
        write_bytes(report / "figures" / f"{plot.name}.png", figure.png)
        write_bytes(report / "figures" / f"{plot.name}.svg", figure.svg)
        figures.append(figure)
    return figures, not_drawn


def write_table(table: Table, folder: Path, csv_alone: bool = False) -> None:
    """Write a table into `folder`/tables as CSV, Markdown and LaTeX; or as CSV alone, which programs read."""
    with replacing(folder / "tables" / f"{table.name}.csv") as file:
        file.writelines(part.encode() for part in csv_parts(table))
    if not csv_alone:
        write_bytes(folder / "tables" / f"{table.name}.md", markdown(table).encode())
        write_bytes(folder / "tables" / f"{table.name}.tex", latex(table).encode())
