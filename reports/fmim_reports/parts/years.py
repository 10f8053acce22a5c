"""The primary metric by years after baseline, or the data set's interval instead, as table and figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import hollow, mean_line, replicates
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.drawing.references import LINES_NOTE, reference_lines
from fmim_reports.drawing.styles import ArmStyle, arm_styles, panels, shared_legend
from fmim_reports.reading.references import on_reference
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, Estimate, arm_summaries, on_test, queries_at, query_times
from fmim_reports.writing.captions import caption, few_queries, few_queries_note, seeds_phrase
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.references import reference_rows, references_note
from fmim_reports.writing.sections import Section, in_every_study, times_of_queries
from fmim_reports.writing.tables import Column, Table


@in_every_study(Section.MORE, times_of_queries)
def by_year_table(results: Results) -> Table:
    """The test set by years after baseline."""
    metric, interval, times = results.metric, results.interval, [*query_times(results), None]
    rows: list[dict[str, Any]] = [
        {"arm": arm} | {interval.name(time): on_test(results, arm.name, metric.name, time) for time in times}
        for arm in results.arms
    ]
    rows += reference_rows(
        results, lambda one: {interval.name(time): on_reference(results, one, metric.name, time) for time in times}
    )
    group = f"{interval.after_baseline.capitalize()} (queries), mean ± SE (n)"
    columns = [ARM]
    columns += [
        Column(interval.name(time), _heading(results, time), "estimate", group, metric=metric) for time in times
    ]
    text = (
        f"Test {metric.label} in %, mean ± SE over seeds (n), by the {interval.plural} between a query and its "
        "subject's baseline image."
    )
    title, notes = f"{metric.label} by {interval.after_baseline}", [references_note(results)]
    return Table(f"by_{interval.unit}", title, caption(results, text), columns, rows, notes)


def _heading(results: Results, time: int | None) -> str:
    count = queries_at(results, time)
    return f"{'all' if time is None else time} ({'–' if math.isnan(count) else int(count)})"


@in_every_study(Section.FIGURES, times_of_queries)
def year_plot(results: Results) -> Plot:
    """The test set by years after baseline, one panel per group of arms, or one for all where groups are many."""
    metric, interval, times = results.metric, results.interval, query_times(results)
    arms = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    if not times or not arms:
        raise NothingToDraw(f"no completed test replicate has queries by {interval.unit} yet")
    styles, drawn = arm_styles(results), panels(arms)
    places = {time: float(place) for place, time in enumerate(times)}
    found = {arm.name: [on_test(results, arm.name, metric.name, time) for time in times] for arm in arms}
    beside = {one.name: [on_reference(results, one, metric.name, time) for time in times] for one in results.references}
    scale = scale_of(
        *({name: Extent.of_estimates(values) for name, values in each.items()} for each in (found, beside))
    )

    def draw(figure: Figure) -> None:
        row = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        for (title, members), axes in zip(drawn.items(), row, strict=True):
            for arm in (one for one in members if one.name not in scale.beyond):
                _line(axes, results, arm, times, styles[arm.name])
            reference_lines(axes, results, metric.name, places, [arm.name for arm in members])
            axes.set_title(title)
            axes.set_xticks(range(len(times)), [_tick(results, time) for time in times])
        row[0].set_ylabel(f"test {metric.label} (%)")
        for axes in row:
            axes.set_xlabel(f"{interval.after_baseline}\n(queries)")
            axes.set_xlim(-0.3, len(times) - 0.7)
        marks = {
            axes: [_mark(arm.name, found[arm.name], styles[arm.name]) for arm in members]
            for axes, members in zip(row, drawn.values(), strict=True)
        }
        scale_y(marks, scale)
        shared_legend(figure, row)

    ends = "; ".join(
        f"{arm.label} from {_percent_at(results, arm, times[0])} to {_percent_at(results, arm, times[-1])} %"
        for arm in arms
    )
    unit = interval.unit
    alt = f"Lines of test {metric.label} by {unit}, from {unit} {times[0]} to {unit} {times[-1]}: {ends}"
    text = (
        f"Test {metric.label} by {interval.plural} between a query and its subject's baseline image (mean over seeds, "
        f"band ± SE, {seeds_phrase(results)}; no band for one seed). In brackets: queries of that {unit}."
    )
    text += few_queries_note(results, times) + scale.note
    if results.references:
        text += f" {LINES_NOTE}"
    title = f"{metric.label} by {interval.after_baseline}"
    return Plot(f"{metric.name}_by_{unit}".lower(), title, caption(results, text), alt, 3.1, draw)


def _line(axes: Axes, results: Results, arm: ArmSummary, times: list[int], style: ArmStyle) -> None:
    found = {x: on_test(results, arm.name, results.metric.name, time).values for x, time in enumerate(times)}
    frame, few = replicates(found, scale=100), few_queries(results, times)
    mean_line(axes, frame, label=style.label, **style.line)
    hollow(axes, frame, [x for x, time in enumerate(times) if time in few], **style.line)


def _mark(arm: str, estimates: Sequence[Estimate], style: ArmStyle) -> Mark:
    """The arm at the first time, with its values from the first to the last, were it off the scale."""
    return Mark(arm, 0.0, range_text([100 * estimate.stat.mean for estimate in estimates]), style.line)


def _tick(results: Results, time: int) -> str:
    count = queries_at(results, time)
    return f"{time}\n({'?' if math.isnan(count) else int(count)})"


def _percent_at(results: Results, arm: ArmSummary, time: int) -> str:
    return in_percent(on_test(results, arm.name, results.metric.name, time).stat.mean, 1)
