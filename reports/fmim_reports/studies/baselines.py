"""The report of `baselines`: the paper's Fig. 4 and Suppl. Tables 4 and 5, as figure, tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from fmim_reports.parts.cautions import cautions, epochs_caution
from fmim_reports.parts.comparisons import comparisons
from fmim_reports.parts.comparisons.plain import plain_sentences
from fmim_reports.parts.comparisons.words import comparison_cautions, estimate_text
from fmim_reports.parts.tidy import reference_tidy_rows, tidy_row, tidy_table
from fmim_reports.parts.verdict import Verdict, details, lead
from fmim_reports.parts.years import by_year_table, year_plot
from fmim_reports.reading import published
from fmim_reports.reading.references import on_reference
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Estimate, on_test, queries_at, query_times
from fmim_reports.studies import Contents
from fmim_reports.studies.baselines_figure import (
    METRICS,
    every_time,
    footnotes,
    published_value,
    shared_times,
    years_plot,
)
from fmim_reports.writing.captions import caption, data_phrase
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import configuration_text, decimal, in_percent
from fmim_reports.writing.references import reference_rows, references_note
from fmim_reports.writing.tables import Column, Table

_WHY_EPOCHS_MATTER = "Losses differ in how fast they learn, so a short training may rank them differently."


def ours_table(results: Results) -> Table:
    """Every loss by metric and years after baseline, in the form of Suppl. Tables 4 and 5."""
    rows = [row for metric in METRICS for row in _of_metric(results, metric)]
    interval, times = results.interval, every_time(results)
    of = f"{interval.after_baseline.capitalize()} (queries)" if results.dated else "Queries"
    group = f"{of}: test, %, mean ± SE over seeds (n)"
    columns = [Column("metric", "Metric", "metric"), Column("loss", "Loss")]
    shared: dict[str, Any] = {"n_key": "n", "digits": 1, "metric": results.metric}
    columns += [Column(interval.name(time), _head(results, time), "estimate", group, **shared) for time in times]
    between = f" by the {interval.plural} between a query and its subject's baseline image" if results.dated else ""
    text = (
        f"Every loss on the test set{between}, in the form of Suppl. Tables 4 and 5 of the paper. {_given(results)} "
        f"{published.CMC_NOTE}"
    )
    note = f"“All” is the mean over queries, here and in the paper: {_pooled_note()}"
    notes = [note, references_note(results)]
    title = f"Losses by {interval.after_baseline}" if results.dated else "Losses"
    name = f"losses_by_{interval.unit}"
    return Table(name, title, caption(results, text), columns, rows, notes, also=[ARM])


def _of_metric(results: Results, metric: str) -> list[dict[str, Any]]:
    """The rows of a metric: the losses, and the references below them."""
    times, at, name = every_time(results), results.interval.name, {"metric": METRICS[metric]}
    rows: list[dict[str, Any]] = [
        {"rule": metric != "mAP" and number == 0, "arm": arm, "loss": arm.group, **name}
        | {at(time): on_test(results, arm.name, metric, time) for time in times}
        for number, arm in enumerate(results.arms)
    ]
    return rows + reference_rows(
        results,
        lambda one: name | {at(time): on_reference(results, one, metric, time) for time in times},
        column="loss",
    )


def _head(results: Results, time: int | None) -> str:
    count = queries_at(results, time)
    return f"{'All' if time is None else time} ({'–' if math.isnan(count) else int(count)})"


def _given(results: Results) -> str:
    given = "; ".join(f"{arm.group} {configuration_text(arm.configurations[0])}" for arm in results.arms)
    return f"Nothing is searched here; the hyperparameters were given: {given}."


def _pooled_note() -> str:
    """What the paper's "All" is, from its own numbers."""
    found = published.all_years()
    pooled = [abs(row.pooled - row.printed) for row in found]
    plain = [abs(row.plain - row.printed) for row in found]
    within = sum(distance <= published.POOLED_TOLERANCE for distance in pooled)
    also = sum(distance <= published.POOLED_TOLERANCE for distance in plain)
    return (
        f"weighting its values by year with its numbers of queries gives the printed “All” to "
        f"±{decimal(published.POOLED_TOLERANCE, 2)} percentage points in {within} of {len(found)} rows "
        f"(losses × metrics × OAI and CXR), the plain mean of years in {also}, "
        f"being off by {decimal(min(plain), 2)} to {decimal(max(plain), 2)}."
    )


def published_table(results: Results) -> Table:
    """The paper's values for OAI in the same form, for the years that the test set has, too."""
    shared, at = shared_times(results), results.interval.name
    rows = [
        {"rule": metric != "mAP" and number == 0, "arm": arm, "metric": METRICS[metric], "loss": arm.group}
        | {at(time): published.by_year(published.loss_name(arm), metric, time) for time in shared}
        for metric in METRICS
        for number, arm in enumerate(results.arms)
    ]
    group = f"Years after baseline: {published.TEST_LABEL}, %, mean ± SE"
    columns = [Column("metric", "Metric", "metric"), Column("loss", "Loss")]
    heads = {time: "All" if time is None else str(time) for time in shared}
    columns += [Column(at(time), head, "published_mean", group, digits=1) for time, head in heads.items()]
    text = (
        "For reference, what the paper published for radiographs of OAI (Suppl. Table 4), for the years that both "
        f"have. Our values above are on other images: {data_phrase(results)}. {published.CMC_NOTE}"
    )
    title = "Published: losses by years after baseline"
    return Table("losses_by_year_published", title, text, columns, rows, footnotes(results), also=[ARM])


def baselines_tidy(results: Results) -> Table:
    """Every loss, metric and time, beside the published value for OAI."""
    rows = [
        tidy_row(
            arm,
            f"{arm.group}, {configuration_text(arm.configurations[0])}",
            metric,
            on_test(results, arm.name, metric, time),
            published_value(results, published.loss_name(arm), metric, time),
            time,
        )
        for arm in results.arms
        for metric in METRICS
        for time in every_time(results)
    ]
    rows += reference_tidy_rows(results, METRICS)
    return tidy_table(results, rows, "seed")


def baselines_verdict(results: Results) -> Verdict:
    """Which losses find a person best over all years, which keep that over the years, and what the paper found."""
    every = {arm.name: on_test(results, arm.name, "mAP") for arm in results.arms}
    known = {name: value for name, value in every.items() if value.stat.n and not math.isnan(value.stat.mean)}
    caveats = (*epochs_caution(results, _WHY_EPOCHS_MATTER), *cautions(results))
    if not known:
        return Verdict(lead(results), ("No loss has a completed test replicate yet.",), caveats)
    best, worst = _extremes({name: value.stat.mean for name, value in known.items()})
    every_query = results.interval.plural if results.dated else "queries"
    first = (
        f"Over all {every_query} test mAP is highest with {results.arm(best).group}, {estimate_text(known[best])}, and "
        f"lowest with {results.arm(worst).group}, {estimate_text(known[worst])}."
    )
    found = comparisons(results)
    answers = (*plain_sentences(results), first, *_fall(results, known), *_paper(results))
    caveats = (*comparison_cautions(found, results.selects), *caveats)
    return Verdict(lead(results), answers, caveats, details(results))


def _extremes(values: Mapping[str, float]) -> tuple[str, str]:
    """The names of the highest and the lowest value."""
    highest, lowest = (pick(values, key=lambda name: values[name]) for pick in (max, min))
    return highest, lowest


def _fall(results: Results, known: Mapping[str, Estimate]) -> list[str]:
    """How much of its mAP each loss has lost by the last time."""
    times, unit = query_times(results), results.interval.unit
    if len(times) < 2:
        return []
    first, last = (
        {name: on_test(results, name, "mAP", time).stat.mean for name in known} for time in (times[0], times[-1])
    )
    falls = {name: first[name] - last[name] for name in known if not math.isnan(first[name] - last[name])}
    if not falls:
        return []
    most, least = _extremes(falls)

    def described(name: str) -> str:
        values = f"{in_percent(first[name])} to {in_percent(last[name])} %, {in_percent(falls[name])} percentage points"
        return f"{results.arm(name).group} ({values})"

    ends = f"From {unit} {times[0]} to {unit} {times[-1]}"
    return [f"{ends} mAP falls most with {described(most)} and least with {described(least)}."]


def _paper(results: Results) -> list[str]:
    """What the paper printed of these losses, for reference."""
    found = {arm.group: published.by_year(published.loss_name(arm), "mAP", None) for arm in results.arms}
    values = {loss: stat for loss, stat in found.items() if stat is not None}
    if not values:
        return []
    best, worst = _extremes({loss: stat.mean for loss, stat in values.items()})
    shown = [published.loss_name(arm) for arm in results.arms if arm.group in (best, worst)]
    return [
        f"For reference, {published.TEST_LABEL}, on other images: highest over all years {best} "
        f"({values[best].mean} ± {values[best].se} %), lowest {worst} ({values[worst].mean} ± {values[worst].se} %).",
        *published.footnotes(shown),
    ]


CONTENTS = Contents(
    verdict=baselines_verdict,
    tables=(ours_table, published_table),
    figures=(years_plot,),
    every_value=baselines_tidy,
    leaves_out=(by_year_table, year_plot),  # its own have every metric, beside the published values
)
