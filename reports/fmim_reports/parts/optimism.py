"""How much better the selected configuration looks than it is: selecting the best of many flatters it."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from fmim_reports.drawing.axes import Extent, Mark, scale_of, scale_y
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.drawing.styles import arm_styles, aside, marker_legend
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries, completed
from fmim_reports.stats import Optimism, optimism
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import points
from fmim_reports.writing.sections import Section, a_choice, in_every_study
from fmim_reports.writing.tables import Column, Table


@dataclass(frozen=True)
class ArmOptimism:
    """By how much an arm's validation score exceeds its result with fresh seeds."""

    arm: ArmSummary
    found: Optimism

    @property
    def n_s(self) -> int:
        return self.arm.cost.n_s

    @property
    def difference(self) -> float | None:
        """None without a fresh seed."""
        return self.found.optimism if self.arm.test.stat.n else None


def optimisms(results: Results) -> list[ArmOptimism]:
    """One per arm with a selected configuration, in plan order."""
    metric, found = results.metric, []
    for arm in arm_summaries(results):
        if arm.configuration is None or not arm.validation.complete:
            continue
        by_fold = completed(results.of(arm.name, "search", arm.configuration), metric.name)
        by_seed = completed(results.of(arm.name, "replicate"), metric.name)
        found.append(ArmOptimism(arm, optimism(by_fold, by_seed, higher_is_better=metric.higher_is_better)))
    return found


@in_every_study(Section.MORE, a_choice)
def optimism_table(results: Results) -> Table:
    """The optimism of each arm's selection."""
    found, label = optimisms(results), results.metric.label
    rows = [
        {
            "arm": one.arm,
            "n_s": one.n_s,
            "validation": one.arm.validation,
            "test": one.arm.test,
            "optimism": one.difference,
            "low": one.found.low,
            "high": one.found.high,
        }
        for one in found
    ]
    minus = "Validation − fresh seeds" if results.metric.higher_is_better else "Fresh seeds − validation"
    both, group = f"{minus}, percentage points", f"{label} in %, mean ± SE (n)"
    columns = [
        ARM,
        Column("n_s", "N_s", "count"),
        Column("validation", "Validation (folds)", "estimate", group, "validation_n", metric=results.metric),
        Column("test", "Test (fresh seeds)", "estimate", group, "test_n", metric=results.metric),
        Column("optimism", "Difference", "points", both),
        Column("low", "95 % CI, low", "points", both),
        Column("high", "high", "points", both),
    ]
    text = (
        f"How much better the selected configuration looks than it is, in percentage points of {label}: the best of "
        "several scores is so partly by luck. The change of subjects and of their number from validation to test is in "
        "it too: read it against an arm with N_s = 1, which selected nothing."
    )
    notes = [f"{one.arm.label}: {one.found.note}." for one in found if one.found.note]
    return Table("selection_optimism", "Optimism of the selection", caption(results, text), columns, rows, notes)


@in_every_study(Section.FIGURES, a_choice)
def optimism_plot(results: Results) -> Plot:
    """The optimism against the number of configurations an arm chose from."""
    found = [one for one in optimisms(results) if one.n_s > 0 and one.difference is not None]
    if not any(one.n_s > 1 for one in found):
        raise NothingToDraw("no arm that selected among two configurations has a test result yet")
    label, styles = results.metric.label, arm_styles(results)
    scale = scale_of(
        {one.arm.name: Extent.with_interval(one.found.optimism, one.found.low, one.found.high) for one in found}
    )

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        marks = []
        for one in found:
            alike = [other for other in found if other.n_s == one.n_s]
            x = one.n_s * aside(alike.index(one), len(alike), 0.14)
            style = styles[one.arm.name]
            line = {**style.line, "linestyle": "", "fillstyle": style.face}
            axes.update_datalim([(x, 0)], updatey=False)
            marks.append(Mark(one.arm.name, x, points(one.found.optimism, 1), line))
            if one.arm.name not in scale.beyond:
                y, low, high = one.found.optimism, one.found.low, one.found.high
                error = None if low is None or high is None else [[100 * (y - low)], [100 * (high - y)]]
                axes.errorbar(x, 100 * y, yerr=error, elinewidth=1, capsize=2, **line)
        axes.axhline(0, color="#5b6470", linewidth=0.8)
        axes.set(xlabel="configurations trained, $N_s$", xscale="log")
        axes.set_ylabel(f"optimism ({label},\npercentage points)")
        ticks = sorted({one.n_s for one in found})
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.margins(x=0.15)
        scale_y({axes: marks}, scale)
        marker_legend(figure, [one.arm for one in found], styles)

    listed = "; ".join(f"{one.arm.label} {points(one.difference)} with {one.n_s}" for one in found)
    text = (
        "By how many percentage points the validation score of the selected configuration exceeds its test result with "
        "fresh seeds, 95 % CI; one far longer than the arms differ leaves the axis. The change of subjects is in it "
        "too: compare with arms that selected nothing (N_s = 1)."
    )
    text += scale.note
    name, title = "optimism_vs_search", "Optimism of the selection by search cost"
    return Plot(name, title, caption(results, text), listed, 2.6, draw)
