"""Uncertainty: how far each arm's test metric may be from that of other seeds or subjects, in all and by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fmim_reports.reading.results import Results, once
from fmim_reports.stats import crossed_mean
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.sections import Section, in_every_study, times_of_queries
from fmim_reports.writing.tables import Column, Table

NO_QUERIES = "No completed replicate has its queries beside its record."
"""What a table says instead of rows."""
COLUMNS = (
    *under("", "count", seeds="Seeds", queries="Queries", subjects="Subjects"),
    Column("mean", "Mean", "percent"),
    *under("SE over", "percent", se_seeds="seeds", se_subjects="subjects", se_both="both"),
    *under("95 % interval over both", "percent", low="from", high="to"),
)
"""The columns of `uncertainty_of`."""
WHAT = (
    "SE over seeds: with other seeds and the same subjects; over subjects: with the same models and other subjects; "
    "over both: with other seeds on other subjects, which is what the interval covers"
)


@in_every_study(Section.TABLES)
def uncertainty_table(results: Results) -> Table:
    """Return the primary metric of each arm over all queries, with its SE over seeds, over subjects, and over both."""
    rows = [{"arm": arm} | uncertainty_of(results, arm.name) for arm in known_arms(results)]
    text = f"Test {results.metric.label} in % over all queries. {WHAT}."
    title = "Uncertainty over seeds and subjects"
    notes = notes_on(results, rows)
    return Table("uncertainty", title, caption(results, text), [ARM, *COLUMNS], rows, notes, NO_QUERIES)


@in_every_study(Section.MORE, times_of_queries)
def uncertainty_by_year_table(results: Results) -> Table:
    """Return the same by years after baseline, or the data set's interval instead, a row per arm and time."""
    interval, unit = results.interval, results.interval.unit
    groups: dict[Any, pd.Index] = results.queries.scored.groupby(unit).groups
    rows = [
        {"arm": arm, unit: int(time), "rule": number == 0} | uncertainty_of(results, arm.name, queries)
        for arm in known_arms(results)
        for number, (time, queries) in enumerate(sorted(groups.items()))
    ]
    columns = [ARM, Column(unit, interval.plural.capitalize(), "value", unit=interval.plural), *COLUMNS]
    between = f"the {interval.plural} between a query and its subject's baseline image"
    text = f"Test {results.metric.label} in % by {between}. {WHAT}."
    title, notes = f"Uncertainty over seeds and subjects by {interval.after_baseline}", notes_on(results, rows)
    return Table(f"uncertainty_by_{unit}", title, caption(results, text), columns, rows, notes, NO_QUERIES)


def uncertainty_of(results: Results, arm: str, queries: pd.Index | None = None) -> dict[str, Any]:
    """Return the cells of `COLUMNS` for an arm's primary metric over these queries or all, and a `note`."""
    values = _values(results)[arm]
    found = crossed_mean(values if queries is None else values[queries], results.queries.subjects)
    return {
        "seeds": found.seeds,
        "queries": found.queries,
        "subjects": found.subjects,
        "mean": found.mean,
        "se_seeds": found.over_seeds.se,
        "se_subjects": found.over_subjects.se,
        "se_both": found.over_both.se,
        "low": found.over_both.low,
        "high": found.over_both.high,
        "note": found.note,
    }


@once
def _values(results: Results) -> dict[str, pd.DataFrame]:
    """Return the primary metric of each of the known arms, seeds × queries."""
    return {arm.name: results.queries.values(arm.name, results.metric) for arm in known_arms(results)}


def known_arms(results: Results) -> list[Any]:
    """Return the arms of which some replicate has its queries."""
    return [arm for arm in results.arms if results.queries.seeds(arm.name)]


def notes_on(results: Results, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the rows of `uncertainty_of` note, each once, and of which arms queries are not known."""
    lacking = {
        arm.label: sum(t.status == "completed" for t in results.of(arm.name, "replicate")) - len(seeds)
        for arm in results.arms
        for seeds in [results.queries.seeds(arm.name)]
    }
    said = [f"{label}: {count} of its completed seeds" for label, count in lacking.items() if count]
    noted = [note[0].upper() + note[1:] + "." for note in dict.fromkeys(row["note"] for row in rows) if note]
    return [*noted, *([f"Without the queries of {'; '.join(said)}."] if said else [])]
