"""The queries that models fail most, as pictures: what they have in common is for the reader to see."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

import numpy as np
from matplotlib.figure import Figure

from fmim_core.metric_names import Interval
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.queries.pictures import MISSED, Picture, Pictures, images_of
from fmim_reports.parts.queries.shown import ShownQuery, best_arm, worst_of_all, worst_of_best_arm
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.sections import Section, in_every_study

_HEADS = ("query", "true match", "found first")
_ABOVE = 14  # points between the pictures and a panel's title, for the heads


@in_every_study(Section.FIGURES)
def worst_queries_plot(results: Results) -> Plot:
    """Rows are queries, with nearest true match and wrong first image: those the best arm ranks worst, then all arms.

    Raises:
        NothingToDraw: no replicate has its queries yet, none of them is missed, or an image is not there.
    """
    best = best_arm(results)
    if best is None:
        raise NothingToDraw("no completed replicate has kept its queries")
    blocks = _blocks(results, results.arm(best).label)
    if not blocks:
        raise NothingToDraw("every query was found at once with every seed of every arm")
    images = images_of(results, (query for shown in blocks.values() for query in shown))
    grid = Pictures(max(map(len, blocks.values())), len(blocks) * len(_HEADS))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(blocks), squeeze=False)[0]
        for axes, (name, shown) in zip(panels, blocks.items(), strict=True):
            grid.draw(axes, _HEADS, (_row(query, images, results.interval) for query in shown))
            title = "\n".join(wrap(name, 26, max_lines=2, placeholder=" …"))
            axes.set_title(title, loc="center", fontsize=7, pad=_ABOVE)

    label, metric = results.arm(best).label, results.metric.label
    chosen = [f"Test queries that are found worst: those of {label}, the best arm by test {metric}, by AP over seeds"]
    chosen += ["those of all arms by how many replicates missed them"] if "all arms" in blocks else []
    beneath = f"Beneath a query its {results.interval.after_baseline}; beneath" if results.dated else "Beneath"
    text = (
        f"{'; '.join(chosen)}. {beneath} its nearest true match the median rank of it; framed, the wrong image that "
        "was found first most often, and in how many replicates somebody else was."
    )
    alt = ". ".join(
        f"{name}: {'; '.join(_in_words(query, results.interval) for query in shown)}" for name, shown in blocks.items()
    )
    return Plot("worst_queries", "The worst queries", caption(results, text), alt, grid.height + 0.5, draw)


def _blocks(results: Results, best: str) -> dict[str, list[ShownQuery]]:
    """The queries of each half of the figure by its title, the label of the best arm first; one arm has one half."""
    blocks = {best: worst_of_best_arm(results)}
    if len(results.arms) > 1:
        blocks["all arms"] = worst_of_all(results)
    return {title: shown for title, shown in blocks.items() if shown}


def _row(query: ShownQuery, images: Mapping[int, np.ndarray], interval: Interval) -> tuple[Picture, ...]:
    return (
        Picture(images[query.query_row], interval.short(query.time)),
        Picture(images[query.truth_row], f"rank {query.rank:g}"),
        Picture(images[query.top_row], f"{query.missed} of {query.of}", MISSED),
    )


def _in_words(query: ShownQuery, interval: Interval) -> str:
    name = query.query if query.time is None else f"{query.query} ({interval.short(query.time)})"
    return f"{name} at rank {query.rank:g}, missed by {query.missed} of {query.of}"
