"""The files of figures beside a page."""

from __future__ import annotations

from pathlib import Path

from fmim_core.records import write_bytes
from fmim_reports.page.render import DrawnFigure
from fmim_reports.writing.plotting import Plot, render


def write_figure(plot: Plot, source: str, report: Path) -> DrawnFigure:
    """Draw a figure into `report`/figures as PNG and SVG; with its drawing as it goes into the page."""
    drawing = render(plot, source)
    write_bytes(report / "figures" / f"{plot.name}.png", drawing.png)
    write_bytes(report / "figures" / f"{plot.name}.svg", drawing.svg)
    return DrawnFigure(plot, drawing.inline)
