"""What the answer on equivalence would be with other margins than the one that the study declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fmim_reports.drawing.lines import shared_legend
from fmim_reports.drawing.plotting import INK, QUIET, NothingToDraw, Plot, line_style
from fmim_reports.parts.comparisons.comparison import comparisons, corrected_by_family
from fmim_reports.parts.comparisons.difference import ALPHA
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study

MARGINS = np.linspace(0.0025, 0.03, 56)
SMALLEST_P = 1e-3
"""The bottom of the axis: smaller p values lie on it."""


@in_every_study(Section.FIGURES, declared_comparisons)
def equivalence_margins_plot(results: Results) -> Plot:
    """Draw the p value of each comparison's equivalence over margins from 0.25 to 3 percentage points."""
    found = [one for one in comparisons(results) if one.smallest_margin is not None]
    if not found:
        raise NothingToDraw("no difference of two compared arms has an interval yet")
    at_each = [[replace(one, margin=float(margin)) for one in found] for margin in MARGINS]
    by_margin = [corrected_by_family(results, each) for each in at_each]
    p = np.array([[one.p_equivalence_holm for one in each] for each in by_margin], dtype=float)
    label, declared = results.metric.label, 100 * results.equivalence_margin

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for number, (one, values) in enumerate(zip(found, p.T, strict=True)):
            style: dict[str, Any] = line_style(number) | {"label": one.heading, "markevery": 11, "markersize": 4}
            if (one.a.name, one.b.name) in results.study.claims:
                style = {"label": "the study's other claims", "color": QUIET, "linewidth": 0.8, "zorder": 1}
            axes.plot(100 * MARGINS, np.maximum(values, SMALLEST_P), **style)
        axes.axhspan(SMALLEST_P, ALPHA, color=QUIET, alpha=0.15, linewidth=0)
        axes.axvline(declared, color=INK, linewidth=0.8, linestyle=":", label=f"declared: ±{declared:g}")
        axes.set(yscale="log", ylim=(0.9 * SMALLEST_P, 1.1), ylabel="p of equivalence (Holm)")
        axes.set(xlabel=f"margin (± percentage points of {label})", xlim=(100 * MARGINS[0], 100 * MARGINS[-1]))
        shared_legend(figure, [axes])

    text = (
        f"P values of equivalence in test {label} by margin, corrected by Holm over the comparisons: below {ALPHA:g}, "
        "shaded, equivalence within that margin is shown. The study declared its margin before it ran (dotted); one "
        "that is chosen by these curves shows nothing."
    )
    listed = "; ".join(
        f"{one.heading}: shown from ±{in_percent(one.smallest_margin or 0.0)} points on" for one in found
    )
    return Plot("equivalence_margins", "Equivalence by margin", caption(results, text), listed, 2.6, draw)
