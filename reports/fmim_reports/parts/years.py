"""The primary metric by years after baseline, as table and figure."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.reading.references import on_reference
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries, on_test, queries_of_year, query_years
from fmim_reports.sections import Section, in_every_study
from fmim_reports.writing.captions import caption, seeds_phrase
from fmim_reports.writing.formats import percent
from fmim_reports.writing.lines import mean_line, replicates
from fmim_reports.writing.looks import Look, looks, panels, shared_legend
from fmim_reports.writing.plotting import NothingToDraw, Plot
from fmim_reports.writing.references import LINES_NOTE, reference_lines, reference_rows, references_note
from fmim_reports.writing.tables import Column, Table


@in_every_study(Section.MORE)
def by_year_table(results: Results) -> Table:
    """The test set by years after baseline."""
    metric, years = results.metric, [*query_years(results), None]
    rows: list[dict[str, Any]] = [
        {"arm": arm.label} | {_name(year): on_test(results, arm.name, metric.name, year) for year in years}
        for arm in results.arms
    ]
    rows += reference_rows(
        results, lambda one: {_name(year): on_reference(results, one, metric.name, year) for year in years}
    )
    group = "Years after baseline (queries), mean ± SE (n)"
    columns = [Column("arm", "Arm")]
    columns += [Column(_name(year), _heading(results, year), "estimate", group) for year in years]
    text = (
        f"Test {metric.label} in %, mean ± SE over seeds (n), by the years between a query and its subject's baseline "
        "image."
    )
    notes = [references_note(results)]
    return Table("by_year", f"{metric.label} by years after baseline", caption(results, text), columns, rows, notes)


def _name(year: int | None) -> str:
    return "all" if year is None else f"year_{year}"


def _heading(results: Results, year: int | None) -> str:
    count = queries_of_year(results, year)
    return f"{'all' if year is None else year} ({'–' if math.isnan(count) else int(count)})"


@in_every_study(Section.FIGURES)
def year_plot(results: Results) -> Plot:
    """The test set by years after baseline, one panel per group of arms, or one for all where groups are many."""
    metric, years = results.metric, query_years(results)
    arms = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    if not years or not arms:
        raise NothingToDraw("no completed test replicate has queries by year yet")
    styles, drawn = looks(results), panels(arms)
    places = {year: float(place) for place, year in enumerate(years)}

    def draw(figure: Figure) -> None:
        row = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        for (title, members), axes in zip(drawn.items(), row, strict=True):
            for arm in members:
                _line(axes, results, arm, years, styles[arm.name])
            reference_lines(axes, results, metric.name, places, [arm.name for arm in members])
            axes.set_title(title)
            axes.set_xticks(range(len(years)), [_tick(results, year) for year in years])
        row[0].set_ylabel(f"test {metric.label} (%)")
        for axes in row:
            axes.set_xlabel("years after baseline\n(queries)")
        shared_legend(figure, row)

    ends = "; ".join(
        f"{arm.label} from {_percent_of_year(results, arm, years[0])} to {_percent_of_year(results, arm, years[-1])} %"
        for arm in arms
    )
    alt = f"Lines of test {metric.label} by year, from year {years[0]} to year {years[-1]}: {ends}"
    text = (
        f"Test {metric.label} by years between a query and its subject's baseline image (mean over seeds, band ± SE, "
        f"{seeds_phrase(results)}; no band for one seed). In brackets: queries of that year."
    )
    if results.references:
        text += f" {LINES_NOTE}"
    title = f"{metric.label} by years after baseline"
    return Plot(f"{metric.name}_by_year".lower(), title, caption(results, text), alt, 3.1, draw)


def _line(axes: Axes, results: Results, arm: ArmSummary, years: list[int], style: Look) -> None:
    found = {x: on_test(results, arm.name, results.metric.name, year).values for x, year in enumerate(years)}
    mean_line(axes, replicates(found, scale=100), label=style.label, **style.line)


def _tick(results: Results, year: int) -> str:
    count = queries_of_year(results, year)
    return f"{year}\n({'?' if math.isnan(count) else int(count)})"


def _percent_of_year(results: Results, arm: ArmSummary, year: int) -> str:
    return percent(on_test(results, arm.name, results.metric.name, year).stat.mean, 1)
