"""A report as tests read it: its tables, the elements of its page, and the numbers of a figure from its artists."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from fmim_reports.build import write_tables
from fmim_reports.drawing.plotting import Plot
from fmim_reports.drawing.rendering import render
from fmim_reports.reading.results import Results, read_results
from fmim_reports.studies import contents_of
from fmim_reports.writing.tables import Table, to_csv


def table(out: Path, name: str) -> list[dict[str, str]]:
    """The rows of a table of the report that lies in the folder."""
    with (out / "report" / "tables" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def tables_alone(out: Path) -> None:
    """Write the report's tables, which takes a fraction of what its figures take."""
    write_tables(read_results(out), out / "report")


@contextmanager
def without_figures() -> Iterator[None]:
    """Reports of the block have no figures: drawing them takes nine tenths of the time."""
    with patch("fmim_reports.build.write_figures", lambda plots, source, report: []):
        yield


@pytest.fixture(scope="module")
def no_figures() -> Iterator[None]:
    """For a file's tests of studies whose figures nobody looks at."""
    with without_figures():
        yield


def by_arm(table: Table, stage: str = "search") -> dict[str, dict[str, str]]:
    """The rows of a table of costs by the label of their arm, of one stage if the table has several."""
    return {row["arm_label"]: row for row in rows(table) if row.get("stage", stage) == stage}


def rows(table: Table) -> list[dict[str, str]]:
    """The rows of a table's CSV file."""
    return list(csv.DictReader(io.StringIO(to_csv(table))))


def assert_drawn(plot: Plot) -> None:
    """Draw, and assert that there are a PNG, an SVG and a PDF whose letters are TrueType."""
    files = render(plot, "data: phantom images, synthetic").files
    assert files["png"].startswith(b"\x89PNG")
    assert b"<svg" in files["svg"]
    assert (b"/FontFile2" in files["pdf"], b"/Type3" in files["pdf"]) == (True, False)


Ends = dict[float, tuple[float, float]]


def plots_of(results: Results) -> list[Plot]:
    """The figures of a report for which there are data; nothing is drawn yet."""
    return [plot for plot in contents_of(results).plots(results).values() if isinstance(plot, Plot)]


def figure_names(results: Results) -> list[str]:
    """Their names."""
    return [plot.name for plot in plots_of(results)]


def panels(plot: Plot) -> list[Axes]:
    """The axes of a drawn plot."""
    figure = Figure(layout="constrained")
    plot.draw(figure)
    return figure.axes


def lines(axes: Axes) -> dict[str, dict[float, float]]:
    """x → y of every line that has a name."""
    named = {str(line.get_label()): line for line in axes.lines}
    return {
        name: {float(x): float(y) for x, y in np.column_stack(line.get_data()).tolist() if not math.isnan(y)}
        for name, line in named.items()
        if not name.startswith("_")
    }


def bands(axes: Axes) -> list[Ends]:
    """x → lower and upper end of every band, in the order drawn."""
    found = []
    for band in axes.collections:
        if isinstance(band, FillBetweenPolyCollection):
            ends: dict[float, list[float]] = {}
            for path in band.get_paths():
                for x, y in np.asarray(path.vertices):
                    ends.setdefault(float(x), []).append(float(y))
            found.append({x: (min(ys), max(ys)) for x, ys in ends.items()})
    return found


def intervals(axes: Axes) -> list[Ends]:
    """x → lower and upper end of the bars of every line that has them, in the order drawn."""
    found = []
    for container in axes.containers:
        (bars,) = container.lines[2]  # type: ignore[attr-defined]
        segments = [np.asarray(segment) for segment in bars.get_segments()]
        known = [segment for segment in segments if len(segment) and not np.isnan(segment).any()]
        found.append({float(s[0, 0]): (float(s[:, 1].min()), float(s[:, 1].max())) for s in known})
    return found


def touching(figure: Figure) -> list[tuple[str, str]]:
    """The pairs of texts of a figure of which the boxes overlap."""
    boxes = _boxes(figure)
    return [
        (one, other)
        for place, (one, box) in enumerate(boxes)
        for other, against in boxes[place + 1 :]
        if box.overlaps(against)
    ]


def cut_off(figure: Figure) -> list[str]:
    """The texts that leave the figure."""
    whole = figure.bbox.padded(0.5)
    return [
        text
        for text, box in _boxes(figure)
        if box.x0 < whole.x0 or box.y0 < whole.y0 or box.x1 > whole.x1 or box.y1 > whole.y1
    ]


def _boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every text that is shown, with its box in pixels, less a pixel on each side."""
    figure.draw_without_rendering()
    axes = [axis for panel in figure.findobj(Axes) for axis in (panel.xaxis, panel.yaxis)]
    ticks = {id(label) for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks) for label in _labels(tick)}
    shown = [label for axis in axes for tick in _ticks_in_view(axis) for label in _labels(tick)]
    shown += [text for text in figure.findobj(Text) if id(text) not in ticks]
    found = [text for text in shown if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent().padded(-1)) for text in found]


def _labels(tick: Tick) -> tuple[Text, Text]:
    return tick.label1, tick.label2


def _ticks_in_view(axis: Axis) -> list[Tick]:
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    every = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    there = axis.get_visible() and axis.axes.axison
    return [tick for tick in every if there and low - room <= tick.get_loc() <= high + room]


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def elements(text: str) -> list[tuple[str, dict[str, str]]]:
    """Each element of HTML in its order: its tag and its attributes."""
    parser = _Elements()
    parser.feed(text)
    return parser.found
