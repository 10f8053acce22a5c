"""The report of `baselines`: the paper's Fig. 4 and Suppl. Tables 4 and 5, as figure, tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fmim_core.metric_names import YEAR
from fmim_core.records import ArmEntry
from fmim_reports.contents import Contents
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
from fmim_reports.stats import MeanSE
from fmim_reports.writing.captions import caption, data_phrase, seeds_phrase
from fmim_reports.writing.formats import configuration_text, decimal, percent
from fmim_reports.writing.lines import mean_line, replicates, value_line
from fmim_reports.writing.plotting import INK, NothingToDraw, Plot
from fmim_reports.writing.references import LINES_NOTE, reference_lines, reference_rows, references_note
from fmim_reports.writing.tables import Column, Table

METRICS = {"mAP": "mAP", "mAP_at_R": "mAP@R", "CMC_1_all_shots": "CMC top-1"}
_WHY_EPOCHS_MATTER = "Losses differ in how fast they learn, so a short training may rank them differently."

# By the paper's names of the losses, in Okabe and Ito's colours; marker and dash repeat the difference.
LOSS_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "SoftTriplet": {"color": "#E69F00", "marker": "v", "linestyle": (0, (1, 1.2))},
    "ArcFace": {"color": "#CC79A7", "marker": "^", "linestyle": (0, (3, 1.2))},
    "SCT": {"color": "#56B4E9", "marker": "s", "linestyle": (0, (5, 1, 1, 1))},
    "WAT": {"color": "#009E73", "marker": "P", "linestyle": (0, (5, 1.5))},
    "Contrastive": {"color": INK, "marker": "X", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    "Triplet": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "AdaTriplet": {"color": "#D55E00", "marker": "D", "linestyle": "-"},
}


def _times(results: Results) -> list[int | None]:
    """The times of the test set, and None for all of them."""
    return [*query_times(results), None]


def _published(results: Results, loss: str | None, metric: str, time: int | None) -> MeanSE | None:
    """The paper's value for OAI of a loss, by its name there; None where it has none, as at a time not in years."""
    return published.by_year(loss, metric, time) if time is None or results.interval == YEAR else None


def _shared_times(results: Results) -> list[int | None]:
    """Those of the times that the paper's OAI table has, too."""
    return [time for time in _times(results) if _published(results, "AdaTriplet", "mAP", time)]


def ours_table(results: Results) -> Table:
    """Every loss by metric and years after baseline, in the form of Suppl. Tables 4 and 5."""
    rows = [row for metric in METRICS for row in _of_metric(results, metric)]
    interval, times = results.interval, _times(results)
    of = f"{interval.after_baseline.capitalize()} (queries)" if results.dated else "Queries"
    group = f"{of}: test, %, mean ± SE over seeds (n)"
    columns = [Column("metric", "Metric"), Column("loss", "Loss")]
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
    return Table(f"losses_by_{interval.unit}", title, caption(results, text), columns, rows, notes)


def _of_metric(results: Results, metric: str) -> list[dict[str, Any]]:
    """The rows of a metric: the losses, and the references below them."""
    times, at, name = _times(results), results.interval.name, {"metric": METRICS[metric]}
    rows: list[dict[str, Any]] = [
        {"rule": metric != "mAP" and number == 0, "loss": arm.group, **name}
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
    shared, at = _shared_times(results), results.interval.name
    rows = [
        {"rule": metric != "mAP" and number == 0, "metric": METRICS[metric], "loss": arm.group}
        | {at(time): published.by_year(published.loss_name(arm), metric, time) for time in shared}
        for metric in METRICS
        for number, arm in enumerate(results.arms)
    ]
    group = f"Years after baseline: {published.TEST_LABEL}, %, mean ± SE"
    columns = [Column("metric", "Metric"), Column("loss", "Loss")]
    heads = {time: "All" if time is None else str(time) for time in shared}
    columns += [Column(at(time), head, "published_mean", group, digits=1) for time, head in heads.items()]
    text = (
        "For reference, what the paper published for radiographs of OAI (Suppl. Table 4), for the years that both "
        f"have. Our values above are on other images: {data_phrase(results)}. {published.CMC_NOTE}"
    )
    title = "Published: losses by years after baseline"
    return Table("losses_by_year_published", title, text, columns, rows, _footnotes(results))


def _footnotes(results: Results) -> list[str]:
    """What is known of how the paper's values came about."""
    return published.footnotes([published.loss_name(arm) for arm in results.arms], METRICS)


def baselines_tidy(results: Results) -> Table:
    """Every loss, metric and time, beside the published value for OAI."""
    rows = [
        tidy_row(
            arm.name,
            f"{arm.group}, {configuration_text(arm.configurations[0])}",
            metric,
            on_test(results, arm.name, metric, time),
            _published(results, published.loss_name(arm), metric, time),
            time,
        )
        for arm in results.arms
        for metric in METRICS
        for time in _times(results)
    ]
    rows += reference_tidy_rows(results, METRICS)
    return tidy_table(results, rows, "seed")


def years_plot(results: Results) -> Plot:
    """Figure 4: every loss by year with its SE band, one row per metric, the published curves beside ours."""
    interval, times = results.interval, query_times(results)
    shared = [time for time in _shared_times(results) if time is not None]
    if not results.dated:
        raise NothingToDraw("the data set does not say how long after baseline its images were taken")
    if not times:
        raise NothingToDraw(f"no completed test replicate has queries by {interval.unit} yet")

    def draw(figure: Figure) -> None:
        columns = 2 if shared else 1
        names = [arm.name for arm in results.arms]
        panels = figure.subplots(len(METRICS), columns, sharex=True, sharey="row", squeeze=False)
        for row, metric in zip(panels, METRICS, strict=True):
            for arm in results.arms:
                ours = {time: on_test(results, arm.name, metric, time).values for time in times}
                mean_line(row[0], replicates(ours, scale=100), label=arm.group, **_style(arm))
                if shared:
                    value_line(row[1], _published_frame(arm, metric, shared), **_style(arm))
            reference_lines(row[0], results, metric, {time: time for time in times}, names)
            row[0].set_ylabel(f"{METRICS[metric]} (%)")
        for axes, title in zip(panels[0], ("Ours, test", "Published (OAI)"), strict=False):
            axes.set_title(title)
        for axes in panels[-1]:
            axes.set_xticks(times)
            axes.set_xlabel(interval.after_baseline)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, columnspacing=1, handlelength=2.4)

    beside = f" Right: {published.TEST_LABEL}, on other images, for the years that both have." if shared else ""
    notes = f" {published.CMC_NOTE} {' '.join(_footnotes(results))}" if shared else ""
    text = (
        f"Test performance by {interval.after_baseline} (mean over seeds, band ± SE, {seeds_phrase(results)}; no band "
        f"for one seed), in the form of Fig. 4 of the paper.{beside}{notes}"
    )
    if results.references:
        text += f" {LINES_NOTE}"
    unit = interval.unit
    alt = f"Test mAP from {unit} {times[0]} to {unit} {times[-1]}: " + "; ".join(
        f"{arm.group} from {_percent_at(results, arm, times[0])} to {_percent_at(results, arm, times[-1])} %"
        for arm in results.arms
    )
    title = f"Performance by {interval.after_baseline}"
    return Plot(f"performance_by_{unit}", title, caption(results, text), alt, 5.4, draw)


def _style(arm: ArmEntry) -> dict[str, Any]:
    own = LOSS_LOOKS.get(published.loss_name(arm) or "", {"color": INK, "marker": "."})
    return {**own, "markersize": 3, "linewidth": 1.1}


def _published_frame(arm: ArmEntry, metric: str, years: Sequence[int]) -> pd.DataFrame:
    """The published means by year, with their ± SE; not a number where the paper has none."""
    found = {year: published.by_year(published.loss_name(arm), metric, year) for year in years}
    rows = [(year, one.mean, one.se) if one else (year, None, None) for year, one in found.items()]
    frame = pd.DataFrame(rows, columns=["x", "y", "se"], dtype=float)
    return frame.assign(low=frame["y"] - frame["se"], high=frame["y"] + frame["se"])


def _percent_at(results: Results, arm: ArmEntry, time: int) -> str:
    return percent(on_test(results, arm.name, "mAP", time).stat.mean, 1)


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
        values = f"{percent(first[name])} to {percent(last[name])} %, {percent(falls[name])} percentage points"
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
