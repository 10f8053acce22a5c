"""A colour, a marker, a dash and a filling mean the same arm in every figure of a study, and legends stay small."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from fmim.catalogue import names
from fmim_reports.drawing.looks import COLOURS, arm_looks, line_style, reference_looks
from fmim_reports.drawing.plotting import drawn
from fmim_reports.reading.results import Results, read_results
from fmim_reports.writing.captions import source_line
from tests.support.declared import make_declared_out
from tests.support.file_contents import NETWORK, PIXELS, add_references
from tests.support.query_files import with_queries
from tests.support.reports import plots_of


def lightness(colour: str) -> float:
    """L* of a colour, from 0 to 100: how bright its grey is."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(116 * np.cbrt(np.dot(linear, (0.2126, 0.7152, 0.0722))) - 16)


def test_colours_differ_in_grey_and_no_two_of_many_lines_look_alike() -> None:
    greys = np.array([lightness(colour) for colour in COLOURS])
    assert np.diff(np.sort(greys)).min() > 3.5
    assert np.abs(np.diff(greys)).min() > 10  # of neighbours
    style = (resources.files("fmim_reports.page") / "style.css").read_text(encoding="utf-8")
    assert all(f"--arm-{number}: {colour};" in style for number, colour in enumerate(COLOURS))
    looks = [str(sorted(line_style(place).items())) for place in range(168)]
    assert len(set(looks)) == 168
    for place in range(20):
        here, there = line_style(place), line_style(place + 1)
        assert all(here[kind] != there[kind] for kind in here)


@pytest.fixture(scope="module", params=names())
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A study with queries and references."""

    def value(arm: str, configuration: dict[str, Any]) -> float:
        return 0.6 + 0.03 * len(arm) / 10

    name = request.param
    out = make_declared_out(tmp_path_factory.mktemp(name) / "out", name, value, folds=2, replicates=3)
    with_queries(add_references(out, {PIXELS: [0.4], NETWORK: [0.1, 0.2, 0.3]}, study=name))
    return read_results(out)


@pytest.fixture(scope="module")
def figures(results: Results) -> dict[str, Figure]:
    """Its figures, laid out."""
    found = {plot.name: drawn(plot, source_line(results)) for plot in plots_of(results)}
    for figure in found.values():
        figure.draw_without_rendering()
    return found


def dash(line: Line2D) -> str:
    return str(line._unscaled_dash_pattern)  # type: ignore[attr-defined]


def told(line: Line2D) -> str:
    """All by which a line is told from others."""
    face = (line.get_fillstyle(), line.get_markerfacecolor())
    return str((line.get_color(), line.get_marker(), dash(line), *face))


@pytest.mark.slow
def test_an_arm_looks_the_same_in_every_figure(results: Results, figures: dict[str, Figure]) -> None:
    looks = {**arm_looks(results), **reference_looks(results)}
    ours = {name: Line2D([], [], **look.line) for name, look in looks.items()}
    assert len({told(ours[arm.name]) for arm in results.arms}) == len(results.arms)
    seen = set()
    for name, figure in figures.items():
        for artist in figure.findobj(lambda one: (one.get_gid() or "").startswith("arm.")):
            arm = str(artist.get_gid()).removeprefix("arm.")
            seen.add(arm)
            if isinstance(artist, Line2D):
                if artist.get_marker() in ("_", "|"):
                    continue  # caps of bars
                plain = artist.get_marker() in ("", "None")  # the dotted end of a search
                assert (name, artist.get_color()) == (name, ours[arm].get_color())
                assert plain or (name, artist.get_marker()) == (name, ours[arm].get_marker())
                assert plain or artist.get_linestyle() == "None" or dash(artist) == dash(ours[arm])
            elif isinstance(artist, Collection):
                every = [*artist.get_facecolor(), *artist.get_edgecolor()]
                own = [int(looks[arm].colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
                assert all(np.allclose(one[:3], own) for one in every)
    assert seen >= {arm.name for arm in results.arms}


@pytest.mark.slow
def test_what_is_said_beside_a_figure_is_short(results: Results) -> None:
    said = {(plot.name, text): len(text.split()) for plot in plots_of(results) for text in (plot.caption, plot.alt)}
    assert {text: words for text, words in said.items() if words > 60} == {}


@pytest.mark.slow
def test_a_legend_takes_less_than_a_quarter_of_the_height(figures: dict[str, Figure]) -> None:
    shares = {
        name: round(legend.get_window_extent().height / figure.bbox.height, 3)
        for name, figure in figures.items()
        for legend in figure.findobj(Legend)
    }
    assert {name: share for name, share in shares.items() if share > 0.25} == {}
