"""The primary metric by years after baseline, or the data set's interval instead, as table and figure."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.reading.references import on_reference
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries, on_test, queries_at, query_times
from fmim_reports.sections import Section, in_every_study, times_of_queries
from fmim_reports.writing.captions import caption, seeds_phrase
from fmim_reports.writing.formats import percent
from fmim_reports.writing.lines import mean_line, replicates
from fmim_reports.writing.looks import Look, looks, panels, shared_legend
from fmim_reports.writing.plotting import NothingToDraw, Plot
from fmim_reports.writing.references import LINES_NOTE, reference_lines, reference_rows, references_note
from fmim_reports.writing.tables import Column, Table


@in_every_study(Section.MORE, times_of_queries)
def by_year_table(results: Results) -> Table:
    """The test set by years after baseline."""
    metric, interval, times = results.metric, results.interval, [*query_times(results), None]
    rows: list[dict[str, Any]] = [
        {"arm": arm.label} | {interval.name(time): on_test(results, arm.name, metric.name, time) for time in times}
        for arm in results.arms
    ]
    rows += reference_rows(
        results, lambda one: {interval.name(time): on_reference(results, one, metric.name, time) for time in times}
    )
    group = f"{interval.after_baseline.capitalize()} (queries), mean ± SE (n)"
    columns = [Column("arm", "Arm")]
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
    styles, drawn = looks(results), panels(arms)
    places = {time: float(place) for place, time in enumerate(times)}

    def draw(figure: Figure) -> None:
        row = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        for (title, members), axes in zip(drawn.items(), row, strict=True):
            for arm in members:
                _line(axes, results, arm, times, styles[arm.name])
            reference_lines(axes, results, metric.name, places, [arm.name for arm in members])
            axes.set_title(title)
            axes.set_xticks(range(len(times)), [_tick(results, time) for time in times])
        row[0].set_ylabel(f"test {metric.label} (%)")
        for axes in row:
            axes.set_xlabel(f"{interval.after_baseline}\n(queries)")
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
    if results.references:
        text += f" {LINES_NOTE}"
    title = f"{metric.label} by {interval.after_baseline}"
    return Plot(f"{metric.name}_by_{unit}".lower(), title, caption(results, text), alt, 3.1, draw)


def _line(axes: Axes, results: Results, arm: ArmSummary, times: list[int], style: Look) -> None:
    found = {x: on_test(results, arm.name, results.metric.name, time).values for x, time in enumerate(times)}
    mean_line(axes, replicates(found, scale=100), label=style.label, **style.line)


def _tick(results: Results, time: int) -> str:
    count = queries_at(results, time)
    return f"{time}\n({'?' if math.isnan(count) else int(count)})"


def _percent_at(results: Results, arm: ArmSummary, time: int) -> str:
    return percent(on_test(results, arm.name, results.metric.name, time).stat.mean, 1)
