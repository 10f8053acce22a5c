"""Retrieval samples: a few queries, their ground truth, and what each arm found first. Fig. 1(a), Suppl. Fig. 3."""

from __future__ import annotations

from textwrap import wrap

from matplotlib.figure import Figure

from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.queries.pictures import FOUND, MISSED, Picture, Pictures, images_of
from fmim_reports.parts.queries.shown import sampled_queries
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.sections import Section, in_every_study

_TITLE_LETTERS, _TITLE_LINES = 18, 3


@in_every_study(Section.FIGURES)
def samples_plot(results: Results) -> Plot:
    """Rows are queries; columns the query, its nearest true match, and each arm's top-1, framed green or orange.

    Raises:
        NothingToDraw: no arm has the queries of its first replicate yet, or the sampled images are missing.
    """
    found = sampled_queries(results)
    if not found:
        raise NothingToDraw("no arm has completed its first replicate and kept its queries")
    images = images_of(results, (query for queries in found.values() for query in queries))
    labels = {arm.name: arm.label for arm in results.arms}
    first, *_ = found.values()

    grid = Pictures(len(first), 2 + len(found))

    def row_of(number: int) -> list[Picture]:
        query, ranked = first[number], [queries[number] for queries in found.values()]
        beside = [Picture(images[one.top_row], f"{one.rank:g}", MISSED if one.missed else FOUND) for one in ranked]
        time = results.interval.short(query.time)
        return [Picture(images[query.query_row], time), Picture(images[query.truth_row], ""), *beside]

    def draw(figure: Figure) -> None:
        heads = [_wrapped(head) for head in ("query", "truth", *(labels[arm] for arm in found))]
        grid.draw(figure.subplots(), heads, map(row_of, range(len(first))), rotation=90, fontweight="bold")

    which = f"the latest visit of a test subject (its {results.interval.after_baseline} beneath)"
    text = (
        f"Each row is one query, {which if results.dated else 'of a test subject'}, its nearest true match as the "
        "first arm ranks it, and the first image each arm's seed 0 retrieved: green frame, the right person; orange, "
        "somebody else. Beneath it the rank of the nearest true match. The subjects are drawn by a hash, alike for "
        "every arm."
    )
    alt = "; ".join(
        f"{labels[arm]}: ranks {', '.join(f'{q.rank:g}' for q in queries)}" for arm, queries in found.items()
    )
    longest = max(len(line) for arm in found for line in _wrapped(labels[arm]).split("\n"))
    height = grid.height + 0.12 + 0.068 * longest
    return Plot("retrieval_samples", "Retrieval samples", caption(results, text), alt, height, draw)


def _wrapped(label: str) -> str:
    """A label in as many lines as there is room for above a column of images."""
    return "\n".join(wrap(label, _TITLE_LETTERS, max_lines=_TITLE_LINES, placeholder=" …"))
