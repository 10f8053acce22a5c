"""The optimism of selection: selecting the best of many configurations flatters it."""

from __future__ import annotations

from matplotlib.figure import Figure

from fmim_reports.drawing.axes import Extent, Mark, scale_of, scale_y
from fmim_reports.drawing.lines import arm_styles, aside, marker_legend
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.costs import scale_n_s
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries
from fmim_reports.stats import Bounded, optimism
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import points
from fmim_reports.writing.sections import Section, a_choice, in_every_study
from fmim_reports.writing.tables import Column, Table


def optimisms(results: Results) -> list[tuple[ArmSummary, Bounded]]:
    """Return that of each arm with a selected configuration that completed every fold, in plan order."""
    return [
        (arm, optimism(arm.validation.values, arm.test.values, results.metric.higher_is_better))
        for arm in arm_summaries(results)
        if arm.configuration is not None and arm.validation.complete
    ]


@in_every_study(Section.MORE, a_choice)
def optimism_table(results: Results) -> Table:
    """Show the optimism of each arm's selection."""
    found, label = optimisms(results), results.metric.label
    rows = [
        {"arm": arm, "n_s": arm.cost.n_s, "validation": arm.validation, "test": arm.test}
        | {"optimism": one.value, "low": one.low, "high": one.high}
        for arm, one in found
    ]
    minus = "Validation − fresh seeds" if results.metric.higher_is_better else "Fresh seeds − validation"
    both, group = f"{minus}, percentage points", f"{label} in %, mean ± SE (n)"
    columns = [
        ARM,
        Column("n_s", "N_s", "count"),
        Column("validation", "Validation (folds)", "estimate", group, "validation_n", metric=results.metric),
        Column("test", "Test (fresh seeds)", "estimate", group, "test_n", metric=results.metric),
        *under(both, "points", optimism="Difference", low="95 % CI, low", high="high"),
    ]
    text = (
        f"How much better the selected configuration looks than it is, in percentage points of {label}: the best of "
        "several scores is so partly by luck. The change of subjects and of their number from validation to test is in "
        "it too: read it against an arm with N_s = 1, which selected nothing."
    )
    notes = [f"{arm.label}: {one.note}." for arm, one in found if one.note]
    return Table("selection_optimism", "Optimism of the selection", caption(results, text), columns, rows, notes)


@in_every_study(Section.FIGURES, a_choice)
def optimism_plot(results: Results) -> Plot:
    """Draw the optimism against the number of configurations an arm chose from."""
    found = [
        (arm, Extent.with_interval(one.value, one.low, one.high), one)
        for arm, one in optimisms(results)
        if arm.cost.n_s > 0 and one.value is not None
    ]
    if not any(arm.cost.n_s > 1 for arm, *_ in found):
        raise NothingToDraw("no arm that selected among two configurations has a test result yet")
    label, styles = results.metric.label, arm_styles(results)
    scale = scale_of({arm.name: extent for arm, extent, _ in found})

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        marks = []
        for arm, extent, one in found:
            n_s = arm.cost.n_s
            alike = [other for other, *_ in found if other.cost.n_s == n_s]
            x, style = n_s * aside(alike.index(arm), len(alike), 0.14), styles[arm.name]
            line = {**style.line, "linestyle": "", "fillstyle": style.face}
            axes.update_datalim([(x, 0)], updatey=False)
            marks.append(Mark(arm.name, x, points(one.value, 1), line))
            if arm.name not in scale.beyond:
                y, bars = extent.value, [[extent.value - extent.bars_low], [extent.bars_high - extent.value]]
                axes.errorbar(x, y, yerr=None if one.low is None else bars, elinewidth=1, capsize=2, **line)
        axes.axhline(0, color="#5b6470", linewidth=0.8)
        axes.set_ylabel(f"optimism ({label},\npercentage points)")
        scale_n_s(axes, {arm.cost.n_s for arm, *_ in found})
        scale_y({axes: marks}, scale)
        marker_legend(figure, [arm for arm, *_ in found], styles)

    listed = "; ".join(f"{arm.label} {points(one.value)} with {arm.cost.n_s}" for arm, _, one in found)
    text = (
        "By how many percentage points the validation score of the selected configuration exceeds its test result with "
        "fresh seeds, 95 % CI; one far longer than the arms differ leaves the axis. The change of subjects is in it "
        "too: compare with arms that selected nothing (N_s = 1)."
    )
    text += scale.note
    name, title = "optimism_vs_search", "Optimism of the selection by search cost"
    return Plot(name, title, caption(results, text), listed, 2.6, draw)
