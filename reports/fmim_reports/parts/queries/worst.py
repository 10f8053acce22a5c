"""The queries that models fail most, as pictures: what they have in common is for the reader to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_core.metric_names import Interval
from fmim_reports.parts.queries.pictures import MISSED, images_of, show
from fmim_reports.parts.queries.shown import ShownQuery, best_arm, worst_of_all, worst_of_best_arm
from fmim_reports.reading.results import Results
from fmim_reports.sections import Section, in_every_study
from fmim_reports.writing.captions import caption
from fmim_reports.writing.plotting import COLUMN_INCHES, NothingToDraw, Plot


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
    rows = max(len(shown) for shown in blocks.values())

    def draw(figure: Figure) -> None:
        parts = figure.subfigures(1, len(blocks), squeeze=False)[0]
        for part, (name, shown) in zip(parts, blocks.items(), strict=True):
            part.suptitle("\n".join(wrap(name, 26, max_lines=2, placeholder=" …")), fontsize=7, fontweight="bold")
            panels = part.subplots(rows, 3, squeeze=False)
            for axes, title in zip(panels[0], ("query", "true match", "found first"), strict=True):
                axes.set_title(title, fontsize=7, fontweight="normal")
            for number, row in enumerate(panels):
                if number < len(shown):
                    _draw(row, shown[number], images, results.interval)
                else:
                    for axes in row:
                        axes.set_axis_off()

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
    height = rows * (COLUMN_INCHES / (3 * len(blocks)) + 0.2) + 0.6
    return Plot("worst_queries", "The worst queries", caption(results, text), alt, height, draw)


def _blocks(results: Results, best: str) -> dict[str, list[ShownQuery]]:
    """The queries of each half of the figure by its title, the label of the best arm first; one arm has one half."""
    blocks = {best: worst_of_best_arm(results)}
    if len(results.arms) > 1:
        blocks["all arms"] = worst_of_all(results)
    return {title: shown for title, shown in blocks.items() if shown}


def _draw(row: Sequence[Axes], query: ShownQuery, images: Mapping[int, np.ndarray], interval: Interval) -> None:
    show(row[0], images[query.query_row], interval.short(query.time))
    show(row[1], images[query.truth_row], f"rank {query.rank:g}")
    show(row[2], images[query.top_row], f"{query.missed} of {query.of}", MISSED)


def _in_words(query: ShownQuery, interval: Interval) -> str:
    name = query.query if query.time is None else f"{query.query} ({interval.short(query.time)})"
    return f"{name} at rank {query.rank:g}, missed by {query.missed} of {query.of}"
