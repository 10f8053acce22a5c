"""The primary metric by years after baseline, or the data set's interval instead, as table and figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.drawing.axes import Extent, Mark, Scale, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import (
    LINES_NOTE,
    draw_line,
    mean_points,
    panels,
    reference_lines,
    shared_legend,
)
from fmim_reports.drawing.looks import Look, arm_looks, reference_looks
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, on_reference, on_test, queries_at, query_times
from fmim_reports.writing.captions import alt_text, caption, references_note, seeds_phrase, star_note, starred
from fmim_reports.writing.columns import ARM, reference_rows
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, in_every_study, times_of_queries
from fmim_reports.writing.tables import Column, Table


@in_every_study(Section.MORE, times_of_queries)
def by_year_table(results: Results) -> Table:
    """Return the primary metric on the test set by years after baseline."""
    metric, interval, times = results.metric, results.interval, [None, *query_times(results)]
    rows: list[dict[str, Any]] = [
        {"arm": arm} | {interval.name(time): on_test(results, arm.name, metric.name, time) for time in times}
        for arm in results.arms
    ]
    rows += reference_rows(
        results, lambda one: {interval.name(time): on_reference(results, one, metric.name, time) for time in times}
    )
    group = f"{interval.after_baseline.capitalize()} (queries), mean ± SE"
    heads = {time: f"{'all' if time is None else time} ({_queries(results, time, '–')})" for time in times}
    columns = [ARM]
    columns += [Column(interval.name(time), head, "estimate", group, metric=metric) for time, head in heads.items()]
    text = (
        f"Test {metric.label} in %, mean ± SE over seeds, by the {interval.plural} between a query and its "
        "subject's baseline image."
    )
    title, notes = f"{metric.label} by {interval.after_baseline}", [references_note(results)]
    return Table(f"by_{interval.unit}", title, caption(results, text), columns, rows, notes)


def _queries(results: Results, time: int | None, unknown: str) -> str:
    count = queries_at(results, time)
    return unknown if math.isnan(count) else f"{count:.0f}"


@in_every_study(Section.FIGURES, times_of_queries)
def year_plot(results: Results) -> Plot:
    """Draw the same, one panel per group of arms, or one for all where groups are many."""
    metric, interval, times = results.metric, results.interval, query_times(results)
    arms = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    if not times or not arms:
        raise NothingToDraw(f"no completed test replicate has queries by {interval.unit} yet")
    looks, drawn = arm_looks(results), panels(arms)
    places = {time: float(place) for place, time in enumerate(times)}
    names = [f"{starred(results, time)}\n({_queries(results, time, '?')})" for time in times]
    scale = scale_by_time(results, metric.name, times, [arm.name for arm in arms])

    def draw(figure: Figure) -> None:
        row = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        marks = {}
        for (title, members), axes in zip(drawn.items(), row, strict=True):
            own = {arm.name: looks[arm.name] for arm in members}
            marks[axes] = draw_by_time(axes, results, metric.name, places, own, scale)
            axes.set_title(title)
            axes.set_xticks(range(len(times)), names, fontsize=7 if len(drawn) * len(times) <= 10 else 6)
        row[0].set_ylabel(f"test {metric.label} (%)")
        for axes in row:
            axes.set_xlabel(f"{interval.after_baseline}\n(queries)")
            axes.set_xlim(-0.3, len(times) - 0.7)
        scale_y(marks, scale)
        shared_legend(figure, row, [*looks.values(), *reference_looks(results).values()])

    unit = interval.unit
    ends = ends_by_time(results, metric.name, times, {arm.name: arm.label for arm in arms})
    alt = f"Lines of test {metric.label} by {unit}, from {unit} {times[0]} to {unit} {times[-1]}: {ends}"
    text = (
        f"Test {metric.label} by {interval.plural} between a query and its subject's baseline image (mean over seeds, "
        f"band ± SE, {seeds_phrase(results)}). In brackets: queries of that {unit}."
    )
    text += notes_by_time(results, times, [scale])
    title = f"{metric.label} by {interval.after_baseline}"
    return Plot(f"{metric.name}_by_{unit}".lower(), title, caption(results, text), alt, 3.1, draw)


def scale_by_time(results: Results, metric: str, times: Sequence[int], arms: Iterable[str]) -> Scale:
    """Return the scale of these arms' values by time; references stand beside the arms."""
    ours = {arm: [on_test(results, arm, metric, time) for time in times] for arm in arms}
    beside = {one.name: [on_reference(results, one, metric, time) for time in times] for one in results.references}
    return scale_of(*({name: Extent.of_estimates(found) for name, found in each.items()} for each in (ours, beside)))


def draw_by_time(
    axes: Axes, results: Results, metric: str, places: Mapping[int, float], looks: Mapping[str, Look], scale: Scale
) -> list[Mark]:
    """Draw a metric of arms, by their looks, and of the references beside them, each time at its place.

    Returns where each arm stands were it off the scale: at the first time, with its values from the lowest to the
    highest.
    """
    marks = []
    for arm, look in looks.items():
        found = {place: on_test(results, arm, metric, time) for time, place in places.items()}
        text = range_text([100 * estimate.stat.mean for estimate in found.values()])
        marks.append(Mark(arm, next(iter(places.values())), text, look.line))
        shown = {} if arm in scale.beyond else {place: estimate.values for place, estimate in found.items()}
        draw_line(axes, mean_points(shown, scale=100), look=look, label=look.label)
    reference_lines(axes, results, metric, places, [*looks])
    return marks


def ends_by_time(results: Results, metric: str, times: Sequence[int], labels: Mapping[str, str]) -> str:
    """Return `Triplet from 80.1 to 70.3 %; …`, by the labels of arms: a metric at the first and the last time."""
    ends = {
        label: [in_percent(on_test(results, arm, metric, time).stat.mean, 1) for time in (times[0], times[-1])]
        for arm, label in labels.items()
    }
    return alt_text((f"{label} from {first} to {last} %" for label, (first, last) in ends.items()), 40)


def notes_by_time(results: Results, times: Sequence[int], scales: Iterable[Scale]) -> str:
    """Return what a caption says of times with few queries, of arms off the scale, and of references."""
    off_scale = next((scale.note for scale in scales if scale.note), "")
    return star_note(results, times) + off_scale + (f" {LINES_NOTE}" if results.references else "")
