"""Queries as pictures: samples with what each arm found, and the worst; their images lie beside the records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import matplotlib.image
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from fmim_reports.drawing.plotting import COLUMN_INCHES, NothingToDraw, Plot
from fmim_reports.parts.queries.shown import ShownQuery, best_arm, sampled_queries, worst_of_all, worst_of_best_arm
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.sections import Section, in_every_study

FOUND, MISSED = "#009E73", "#E69F00"  # green and orange as in the paper, in their colour-blind safe shades
_SIDE = 0.84  # of a picture, in widths of a column of pictures
_BENEATH = 0.22  # inches below a picture for its text
_GAP = 0.05  # between a picture and its text, in widths of a column
_LETTERS = 7  # points
_WORST_HEADS = ("query", "true match", "found first")

Picture = tuple[int, str, str | None]
"""A row of the bank, the text beneath its image, and the colour of a frame, if there is one."""


@dataclass(frozen=True)
class Pictures:
    """Pictures in so many rows, and in so many columns over the width of a figure.

    All of a panel are drawn in one pair of axes: with axes for each picture a figure takes seconds.
    """

    results: Results
    rows: int
    columns: int

    @property
    def height(self) -> float:
        """Return the inches that they take in a figure of column width."""
        return self.rows * self._row * COLUMN_INCHES / self.columns

    @property
    def _row(self) -> float:
        """Return the height of a row, in widths of a column."""
        return _SIDE + _BENEATH * self.columns / COLUMN_INCHES

    def check(self, shown: Iterable[ShownQuery]) -> None:
        """Raise `NothingToDraw` where an image of these queries is not there."""
        rows = sorted(row for query in shown for row in query.rows if not self._path(row).is_file())
        if rows:
            raise NothingToDraw(f"samples/{rows[0]}.png is missing: run the study again to write it, without any trial")

    def _path(self, row: int) -> Any:
        return self.results.out / "samples" / f"{row}.png"

    def draw(self, axes: Axes, heads: Sequence[str], rows: Iterable[Sequence[Picture]], **letters: Any) -> None:
        """Draw a panel of pictures under the heads of its columns, which have these letters."""
        for column, head in enumerate(heads):
            axes.text(column + _SIDE / 2, -2 * _GAP, head, ha="center", va="bottom", fontsize=_LETTERS, **letters)
        for number, row in enumerate(rows):
            top = number * self._row
            for left, (of_bank, text, frame) in enumerate(row):
                image = np.asarray(matplotlib.image.imread(self._path(of_bank)))
                place = (left, left + _SIDE, top + _SIDE, top)
                axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest", extent=place)
                beneath = (left + _SIDE / 2, top + _SIDE + _GAP)
                axes.text(*beneath, text, ha="center", va="top", fontsize=_LETTERS)
                if frame:
                    line: dict[str, Any] = {"fill": False, "edgecolor": frame, "linewidth": 2, "clip_on": False}
                    axes.add_patch(Rectangle((left, top), _SIDE, _SIDE, **line))
        axes.set(xlim=(-_GAP / 2, len(heads) - 1 + _SIDE + _GAP / 2), ylim=(self.rows * self._row, -_GAP / 2))
        axes.set_anchor("N")  # heads stand above the axes, where the layout leaves room for them
        axes.set_axis_off()


@in_every_study(Section.MORE_FIGURES)
def samples_plot(results: Results) -> Plot:
    """Draw a row per query: it, its nearest true match, and each arm's top-1, framed green or orange.

    As in Fig. 1(a) and Suppl. Fig. 3 of the paper.

    Raises:
        NothingToDraw: no arm has the queries of its first replicate yet, or the sampled images are missing.
    """
    found = sampled_queries(results)
    if not found:
        raise NothingToDraw("no arm has completed its first replicate and kept its queries")
    labels = {name: results.arm(name).label for name in found}
    queries, (first, *_) = [*zip(*found.values(), strict=True)], found.values()
    grid = Pictures(results, len(first), 2 + len(found))
    grid.check(query for row in queries for query in row)

    def pictures(row: Sequence[ShownQuery]) -> list[Picture]:
        beside = [(one.top_row, f"{one.rank:g}", MISSED if one.missed else FOUND) for one in row]
        time = results.interval.short(row[0].time)
        return [(row[0].query_row, time, None), (row[0].truth_row, "", None), *beside]

    heads = [_wrapped(head, 18, 3) for head in ("query", "truth", *labels.values())]

    def draw(figure: Figure) -> None:
        grid.draw(figure.subplots(), heads, map(pictures, queries), rotation=90, fontweight="bold")

    which = f"the latest visit of a test subject ({results.interval.after_baseline} below)"
    text = (
        f"Each row is a query, {which if results.dated else 'an image of a test subject'}, its nearest true match, and "
        "the first image that each arm finds. Green: the right person; orange: another person. Below: the rank "
        "of the nearest true match. A hash draws the subjects."
    )
    ranks = {labels[arm]: ", ".join(f"{query.rank:g}" for query in of_arm) for arm, of_arm in found.items()}
    alt = alt_text(f"{label}: ranks {listed}" for label, listed in ranks.items())
    longest = max(len(line) for head in heads[2:] for line in head.split("\n"))
    height = grid.height + 0.12 + 0.068 * longest
    return Plot("retrieval_samples", "Retrieval samples", caption(results, text), alt, height, draw)


@in_every_study(Section.MORE_FIGURES)
def worst_queries_plot(results: Results) -> Plot:
    """Draw a row per query with nearest true match and wrong first image: the worst of the best arm, then of all arms.

    Raises:
        NothingToDraw: no replicate has its queries yet, none of them is missed, or an image is not there.
    """
    best = best_arm(results)
    if best is None:
        raise NothingToDraw("no completed replicate has kept its queries")
    label, interval = results.arm(best).label, results.interval
    halves = {label: worst_of_best_arm(results), "all arms": worst_of_all(results) if len(results.arms) > 1 else []}
    blocks = {title: shown for title, shown in halves.items() if shown}
    if not blocks:
        raise NothingToDraw("every seed of every arm finds a match first for every query")
    grid = Pictures(results, max(map(len, blocks.values())), len(blocks) * len(_WORST_HEADS))
    grid.check(query for shown in blocks.values() for query in shown)

    def pictures(query: ShownQuery) -> list[Picture]:
        missed = (query.top_row, f"{query.missed} of {query.of}", MISSED)
        return [
            (query.query_row, interval.short(query.time), None),
            (query.truth_row, f"rank {query.rank:g}", None),
            missed,
        ]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(blocks), squeeze=False)[0]
        for axes, (name, shown) in zip(panels, blocks.items(), strict=True):
            grid.draw(axes, _WORST_HEADS, map(pictures, shown))
            axes.set_title(_wrapped(name, 26, 2), loc="center", fontsize=7, pad=14)  # points above, for the heads

    text = (
        f"The test queries that {label}, the best arm, finds worst{', and all arms' if 'all arms' in blocks else ''}. "
        f"{f'Below a query: its {interval.after_baseline}. ' if results.dated else ''}Below its nearest true match: "
        "the median rank. Framed: the wrong image that most often came first, and how many replicates found another "
        "person first."
    )

    def in_words(query: ShownQuery) -> str:
        name = query.query if query.time is None else f"{query.query} ({interval.short(query.time)})"
        return f"{name} at rank {query.rank:g}, missed by {query.missed} of {query.of}"

    alt = ". ".join(f"{name}: {alt_text(map(in_words, shown), 23)}" for name, shown in blocks.items())
    return Plot("worst_queries", "The worst queries", caption(results, text), alt, grid.height + 0.5, draw)


def _wrapped(label: str, letters: int, lines: int) -> str:
    """Return a label in as many lines as there is room for above a column of images."""
    return "\n".join(wrap(label, letters, max_lines=lines, placeholder=" …"))
