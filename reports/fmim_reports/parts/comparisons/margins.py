"""What the answer on equivalence would be with other margins than the one that the study declared."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from fmim_reports.drawing.plotting import INK, LINE, QUIET, NothingToDraw, Plot
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.formats import decimal
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study

WIDEST = 5.0
"""The end of the axis, in percentage points: a larger margin stands at it with its value."""


@in_every_study(Section.MORE_FIGURES, declared_comparisons)
def equivalence_margins_plot(results: Results) -> Plot:
    """Draw the smallest margin within which each comparison shows equivalence, a row each."""
    found = {one.heading: 100 * one.smallest_margin for one in comparisons(results) if one.smallest_margin is not None}
    if not found:
        raise NothingToDraw("no difference of two compared arms has an interval yet")
    label, declared = results.metric.label, 100 * results.equivalence_margin

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (heading, smallest) in enumerate(found.items()):
            end = min(smallest, WIDEST)
            axes.plot([0, end], [place, place], color=LINE, linewidth=3, solid_capstyle="butt", zorder=1)
            axes.plot(end, place, marker="o" if smallest <= WIDEST else ">", color=INK, clip_on=False)
            axes.text(0, place - 0.42, heading, va="center", fontsize=6.5)
            axes.text(end + 0.12, place, _text(smallest), va="center", fontsize=6.5)
        axes.axvline(declared, color=QUIET, linewidth=0.9, linestyle=":", zorder=0)
        axes.text(declared, -0.85, f"declared: ±{declared:g}", ha="center", va="bottom", fontsize=6.5, color=QUIET)
        axes.set(xlim=(0, WIDEST), ylim=(len(found) - 0.5, -0.8), yticks=[])
        axes.set_xlabel(f"smallest margin of equivalence\n(± percentage points of test {label})")
        axes.grid(False, axis="y")
        axes.spines["left"].set_visible(False)

    text = (
        f"The smallest margin within which the test {label} of two arms is shown to be equivalent (p values "
        "Holm-corrected). Left of the dotted line, the declared margin: equivalent. A margin that is chosen by this "
        "figure shows nothing."
    )
    alt = alt_text(f"{heading}: equivalent within ±{_text(one)} points" for heading, one in found.items())
    height = 0.8 + 0.34 * len(found)
    return Plot("equivalence_margins", "Equivalence by margin", caption(results, text), alt, height, draw)


def _text(margin: float) -> str:
    return decimal(margin, 1) if math.isfinite(margin) else "none"
