"""The picture of the answer: a forest plot of every declared difference, with what is shown of it."""

from __future__ import annotations

from matplotlib.figure import Figure

from fmim_reports.drawing.forest import ForestRow, draw_forest, forest_scale
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.comparisons.comparison import Comparison
from fmim_reports.parts.comparisons.pipelines import headlines
from fmim_reports.parts.comparisons.words import margin_text
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study


@in_every_study(Section.FIGURES, declared_comparisons)
def differences_plot(results: Results) -> Plot:
    """Draw each declared difference with its interval on a band of the equivalence margin, and say what is shown."""
    found = [one for one in headlines(results) if one.value is not None]
    if not found:
        raise NothingToDraw("no seed is completed by both arms of a comparison yet")
    several = len({one.group for one in found}) > 1
    rows = [_row(one, several) for one in found]
    scale, margin, metric = forest_scale(rows), results.equivalence_margin, results.metric

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        draw_forest(axes, rows, scale, margin)
        better = "right" if metric.higher_is_better else "left"
        axes.set_xlabel(f"test {metric.label}, points ({better}: the first arm is better)")

    over = " or ".join(dict.fromkeys(one.over for one in found))
    text = (
        f"Test {metric.label} of the first arm minus the second ({found[0].claim.name}), 95 % intervals over {over}, "
        f"not corrected. Band: equivalence margin, ±{margin_text(margin)}. Filled: better, worse or equivalent by "
        "Holm-corrected p values."
    )
    alt = alt_text(f"{one.heading}: {row.numbers}, {row.shown}" for one, row in zip(found, rows, strict=True))
    height = 0.5 + 0.27 * len(rows)
    title = "What the comparisons show"
    return Plot("differences", title, caption(results, text + scale.note), alt, height, draw, width=4.0, leads=True)


def _row(one: Comparison, several: bool) -> ForestRow:
    a, b = one.names
    group = f" ({one.group})" if several and one.group else ""
    return ForestRow(
        name=f"{one.a.name} {one.b.name}",
        label=f"{a}\n− {b}{group}",
        value=one.value or 0.0,
        low=one.uncertainty.low,
        high=one.uncertainty.high,
        hollow=not (one.differs or one.equivalent),
        shown=one.shown if one.answers else "no answer",
    )
