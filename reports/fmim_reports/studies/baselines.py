"""The report of `baselines`: the paper's Fig. 4 and Suppl. Tables 4 and 5, as figure, tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS as EVERY_METRIC
from fmim_core.metric_names import YEAR
from fmim_core.records import ArmEntry, ReferenceEntry
from fmim_reports.drawing.axes import scale_y
from fmim_reports.drawing.lines import draw_line, shared_legend
from fmim_reports.drawing.looks import arm_looks, reference_looks
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.comparisons.words import estimate_text, plain_sentences
from fmim_reports.parts.tidy import every_value_table
from fmim_reports.parts.verdict import Verdict, epochs_caution, verdict_of
from fmim_reports.parts.years import by_year_table, draw_by_time, ends_by_time, notes_by_time, scale_by_time, year_plot
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import on_reference, on_test, queries_at, query_times
from fmim_reports.stats import MeanSE
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import caption, references_note, seeds_phrase, starred
from fmim_reports.writing.columns import ARM, reference_rows
from fmim_reports.writing.formats import configuration_text, in_percent
from fmim_reports.writing.tables import Column, Table

METRICS = {name: EVERY_METRIC[name] for name in ("mAP", "mAP_at_R", "CMC_1_all_shots")}
METRICS["CMC_1_all_shots"] = replace(METRICS["CMC_1_all_shots"], label="CMC top-1")  # as the paper calls it

LOSSES = ("SoftTriplet", "ArcFace", "SCT", "WAT", "Contrastive", "Triplet", "AdaTriplet")
"""By the paper's names."""
_WHY_EPOCHS_MATTER = "Losses differ in how fast they learn, so a short training may rank them differently."
_KEYS = (Column("metric", "Metric", "metric"), Column("loss", "Loss"))
Value = Callable[[ArmEntry, str, int | None], Any]
_POOLED = (  # computed in the test of this file
    "weighting its values by year with its numbers of queries gives the printed “All” to ±0.06 percentage points in 42 "
    "of 42 rows (losses × metrics × OAI and CXR), the plain mean of years in 0, being off by 0.22 to 8.39."
)


def paper_sentence(data: published.PaperData) -> str:
    """Say which losses are best and worst in the paper over all years."""
    values = {loss: value for loss in LOSSES if (value := published.by_year(loss, "mAP", None, data.name))}
    ranked = sorted(values, key=lambda loss: values[loss].mean)
    worst, best = (f"{loss} ({values[loss].mean:.1f} ± {values[loss].se:.1f} %)" for loss in (ranked[0], ranked[-1]))
    return f"For reference, {data.test_label}, on the paper's images: highest over all years {best}, lowest {worst}."


def _published(results: Results, arm: ArmEntry, metric: str, time: int | None) -> MeanSE | None:
    """Return the paper's value of an arm's loss; None where it has none, as at a time not in years."""
    if time is not None and results.interval != YEAR:
        return None
    return published.by_year(published.loss_name(arm), metric, time, published.paper_data(results).name)


def _shared_times(results: Results) -> list[int | None]:
    """Return those of the times that the paper's table has, too."""
    times = (*query_times(results), None)
    return [time for time in times if any(_published(results, arm, "mAP", time) for arm in results.arms)]


def _footnotes(results: Results) -> list[str]:
    """Return what is known of how the paper's values came about."""
    return published.footnotes([published.loss_name(arm) for arm in results.arms], METRICS)


def ours_table(results: Results) -> Table:
    """Return every loss by metric and years after baseline, in the form of Suppl. Tables 4 and 5."""
    interval, times = results.interval, [*query_times(results), None]
    rows: list[dict[str, Any]] = []
    for metric in METRICS:
        rows += _rows(results, metric, times, lambda arm, metric, time: on_test(results, arm.name, metric, time))

        def cells(one: ReferenceEntry, metric: str = metric) -> dict[str, Any]:
            at_times = {interval.name(time): on_reference(results, one, metric, time) for time in times}
            return {"metric": METRICS[metric], **at_times}

        rows += reference_rows(results, cells, column="loss")
    of = f"{interval.after_baseline.capitalize()} (queries)" if results.dated else "Queries"
    group = f"{of}: test, %, mean ± SE over seeds"
    shared: dict[str, Any] = {"n_key": "n", "digits": 1, "metric": results.metric}
    columns = []
    for time in times:
        count = queries_at(results, time)
        head = f"{'All' if time is None else time} ({'–' if math.isnan(count) else int(count)})"
        columns.append(Column(interval.name(time), head, "estimate", group, **shared))
    between = f" by the {interval.plural} between a query and its subject's baseline image" if results.dated else ""
    given = "; ".join(f"{arm.group} {configuration_text(arm.configurations[0])}" for arm in results.arms)
    text = (
        f"Every loss on the test set{between}, in the form of Suppl. Tables 4 and 5 of the paper. Nothing is searched "
        "here."
    )
    how = f"The hyperparameters were given: {given}. {published.CMC_NOTE}"
    note = f"“All” is the mean over queries, here and in the paper: {_POOLED}"
    notes = [note, references_note(results)]
    title = f"Losses by {interval.after_baseline}" if results.dated else "Losses"
    name = f"losses_by_{interval.unit}"
    return Table(name, title, caption(results, text), [*_KEYS, *columns], rows, notes, also=[ARM], how=how)


def published_table(results: Results) -> Table:
    """Return the paper's values in the same form, for the years that the test set has, too."""
    times, data = _shared_times(results), published.paper_data(results)
    rows = [row for metric in METRICS for row in _rows(results, metric, times, partial(_published, results))]
    group = f"Years after baseline: {data.test_label}, %, mean ± SE"
    heads = {results.interval.name(time): "All" if time is None else str(time) for time in times}
    columns = [*_KEYS, *(Column(key, head, "published_mean", group, digits=1) for key, head in heads.items())]
    text = (
        f"For reference, what the paper published for {data.images} ({data.by_year}), for the years that both have. "
        f"Our values above are on: {results.study.data.phrase}."
    )
    title, notes = "Published: losses by years after baseline", _footnotes(results)
    return Table("losses_by_year_published", title, text, columns, rows, notes, also=[ARM], how=published.CMC_NOTE)


def _rows(results: Results, metric: str, times: Iterable[int | None], value: Value) -> list[dict[str, Any]]:
    """Return a row for each loss, with its value of a metric at each time."""
    return [
        {"rule": metric != "mAP" and arm is results.arms[0], "arm": arm, "metric": METRICS[metric], "loss": arm.group}
        | {results.interval.name(time): value(arm, metric, time) for time in times}
        for arm in results.arms
    ]


def baselines_tidy(results: Results) -> Table:
    """Return every loss, metric and time, beside the published value."""
    settings = {arm.name: f"{arm.group}, {configuration_text(arm.configurations[0])}" for arm in results.arms}
    return every_value_table(results, settings, partial(_published, results), METRICS)


def years_plot(results: Results) -> Plot:
    """Draw every loss by year with its SE band, a row per metric, the published curves beside ours: Figure 4."""
    interval, times, data = results.interval, query_times(results), published.paper_data(results)
    shared = [time for time in _shared_times(results) if time is not None]
    if not results.dated:
        raise NothingToDraw("the data set does not say how long after baseline its images were taken")
    if not times:
        raise NothingToDraw(f"no completed test replicate has queries by {interval.unit} yet")
    thin = {"markersize": 3, "linewidth": 1.1}
    looks = {
        name: replace(look, label=look.group, line={**look.line, **thin}) for name, look in arm_looks(results).items()
    }
    scales = {metric: scale_by_time(results, metric, times, looks) for metric in METRICS}

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(METRICS), 2 if shared else 1, sharex=True, squeeze=False)
        for axes in panels[-1]:
            axes.set_xticks(times, [starred(results, time) for time in times])
            axes.set_xlabel(interval.after_baseline)
        for (ours, *theirs), metric in zip(panels, METRICS, strict=True):
            marks = draw_by_time(ours, results, metric, {time: time for time in times}, looks, scales[metric])
            ours.set_ylabel(f"{METRICS[metric].label} (%)")
            scale_y({ours: marks}, scales[metric])
            for axes, arm in product(theirs, results.arms):
                draw_line(axes, _published_frame(results, arm, metric, shared), look=looks[arm.name])
        for axes, title in zip(panels[0], ("Ours, test", f"Published ({data.name})"), strict=False):
            axes.set_title(title)
        shared_legend(figure, panels[0][:1], [*looks.values(), *reference_looks(results).values()])

    text = f"Test performance by {interval.after_baseline} (mean over seeds, band ± SE, {seeds_phrase(results)})."
    if shared:
        text += f" Right: {data.test_label}, on the paper's images."
    text += notes_by_time(results, times, scales.values())
    unit, groups = interval.unit, {arm.name: arm.group for arm in results.arms}
    alt = f"Test mAP from {unit} {times[0]} to {unit} {times[-1]}: {ends_by_time(results, 'mAP', times, groups)}"
    title = f"Performance by {interval.after_baseline}"
    return Plot(f"performance_by_{unit}", title, caption(results, text), alt, 5.4, draw)


def _published_frame(results: Results, arm: ArmEntry, metric: str, times: Iterable[int]) -> pd.DataFrame:
    """Return the published means by year, with their ± SE; not a number where the paper has none."""
    found = {time: _published(results, arm, metric, time) for time in times}
    rows = [(time, one.mean, one.se) if one else (time, None, None) for time, one in found.items()]
    frame = pd.DataFrame(rows, columns=["x", "y", "se"], dtype=float)
    return frame.assign(low=frame["y"] - frame["se"], high=frame["y"] + frame["se"])


def baselines_verdict(results: Results) -> Verdict:
    """Say which losses find a person best over all years, which keep that over the years, and what the paper found."""
    own = epochs_caution(results, _WHY_EPOCHS_MATTER)
    every = {arm.name: on_test(results, arm.name, "mAP") for arm in results.arms}
    means = {name: value.stat.mean for name, value in every.items() if value.stat.n and not math.isnan(value.stat.mean)}
    if not means:
        return verdict_of(results, ["No loss has a completed test replicate yet."], own=own)
    best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    first = (
        f"{results.arm(best).group} has the highest test mAP over all "
        f"{results.interval.plural if results.dated else 'queries'}, {estimate_text(every[best])}; "
        f"{results.arm(worst).group} has the lowest, {estimate_text(every[worst])}."
    )
    notes = (paper_sentence(published.paper_data(results)), *published.footnotes(["SoftTriplet"]))
    findings = (*plain_sentences(results), first, *_fall(results, [*means]), *notes)
    return verdict_of(results, findings, own=own)


def _fall(results: Results, arms: Sequence[str]) -> list[str]:
    """Say how much of its mAP each loss has lost by the last time."""
    times, unit = query_times(results), results.interval.unit
    if len(times) < 2:
        return []
    first, last = ({arm: on_test(results, arm, "mAP", t).stat.mean for arm in arms} for t in (times[0], times[-1]))
    falls = {arm: first[arm] - last[arm] for arm in arms if not math.isnan(first[arm] - last[arm])}
    if not falls:
        return []

    def described(arm: str) -> str:
        values = f"{in_percent(first[arm])} to {in_percent(last[arm])} %, {in_percent(falls[arm])} points"
        return f"{results.arm(arm).group} ({values})"

    most, least = max(falls, key=falls.__getitem__), min(falls, key=falls.__getitem__)
    return [
        f"From {unit} {times[0]} to {unit} {times[-1]} mAP falls most with {described(most)} and least with "
        f"{described(least)}."
    ]


CONTENTS = Contents(
    verdict=baselines_verdict,
    tables=(ours_table, published_table),
    figures=(years_plot,),
    every_value=baselines_tidy,
    leaves_out=(by_year_table, year_plot),  # its own have every metric, beside the published values
)
