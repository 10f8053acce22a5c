"""The files of a figure: PNG, SVG and PDF, the same bytes each time, and the SVG as the page has it."""

from __future__ import annotations

import importlib
import io
import re
import sys
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG

from fmim_reports.drawing.hints import shapes
from fmim_reports.drawing.looks import CARD, COLOURS
from fmim_reports.drawing.plotting import COLUMN_INCHES, INK, LINE, QUIET, Plot, drawn, quiet, report_style
from fmim_reports.writing.formats import to_html


@dataclass(frozen=True)
class DrawnFigure:
    """A drawn figure: its files by their endings, and the SVG as it goes into the page."""

    plot: Plot
    files: dict[str, bytes]
    inline: str


def render(plot: Plot, source: str) -> DrawnFigure:
    """Return the files of a figure."""
    png, svg, pdf = io.BytesIO(), io.BytesIO(), io.BytesIO()
    if sys.modules.get("IPython"):  # matplotlib looks into it: wait where another thread, such as MLflow's, imports it
        importlib.import_module("IPython")
    with report_style(), quiet():
        figure = drawn(plot, source)
        FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
        figure.set_layout_engine("none")  # the others keep the positions that the PNG was laid out with
        over = shapes(figure)
        for number, artist in enumerate(figure.findobj(_named)):  # an id stands once in a file
            artist.set_gid(f"{artist.get_gid()}.{number}")
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
        nothing: dict[str, Any] = {"Creator": None, "Producer": None, "CreationDate": None}
        FigureCanvasPdf(figure).print_pdf(pdf, metadata=nothing)
    files = {"png": png.getvalue(), "svg": svg.getvalue(), "pdf": pdf.getvalue()}
    return DrawnFigure(plot, files, _inline_svg(svg.getvalue().decode(), over, plot.name, plot.alt))


def _named(artist: Artist) -> bool:
    return bool(artist.get_gid())


def _inline_svg(svg: str, over: str, name: str, alt: str) -> str:
    """Return the SVG for the page: ids of its own, described for who does not see it, ink that follows the theme.

    over: shapes above its marks. An artist of an arm has `data-arm` instead of an id.
    """
    svg = svg[svg.index("<svg") :].replace("</svg>", f"{over}</svg>")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'( xmlns:xlink)="[^"]*"', "", svg, count=1).replace("xlink:href", "href")
    svg = re.sub(r' id="arm\.([^"]*)\.\d+"', r' data-arm="\1"', svg)
    # Matplotlib names a picture after its content, so that one shown twice has its name twice; nothing refers to it.
    svg = re.sub(r'(<image\b[^>]*?)\sid="[^"]*"', r"\1", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    themed = {INK: "ink", QUIET: "quiet", LINE: "line", CARD: "card"}
    themed |= {colour: f"arm-{number}" for number, colour in enumerate(COLOURS)}
    for colour, variable in themed.items():
        svg = svg.replace(colour, f"var(--{variable})")
    size = re.search(r'viewBox="([^"]+)"', svg)
    box = size[1] if size else f"0 0 {72 * COLUMN_INCHES} {72 * COLUMN_INCHES}"
    head = f'<svg viewBox="{box}" role="img" aria-label="{_plain(alt)}">'
    return re.sub(r"<svg[^>]*>", lambda _: head, svg, count=1)


def _plain(text: str) -> str:
    return re.sub(r"<[^>]+>", "", to_html(text))
