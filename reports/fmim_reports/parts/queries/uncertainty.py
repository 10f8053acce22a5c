"""The primary metric with its uncertainty over seeds and subjects: in all, by time, and by what is known of a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.metric_names import YEAR
from fmim_reports.reading.results import Results, once
from fmim_reports.stats import crossed_mean
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.sections import Need, Part, Section, in_every_study, times_of_queries
from fmim_reports.writing.tables import Column, Table

NO_QUERIES = "No completed replicate has its queries beside its record."
"""What a table says instead of rows."""
COLUMNS = (
    Column("mean", "Mean", "percent"),
    *under("SE over", "percent", se_seeds="seeds", se_subjects="subjects", se_both="both"),
    *under("95 % interval over both", "percent", low="from", high="to"),
    *under("", "count", seeds="Seeds", queries="Queries", subjects="Subjects"),
)
"""The columns of `uncertainty_of`."""
WHAT = (
    "SE over seeds: with other seeds and the same subjects; over subjects: with the same models and other subjects; "
    "over both: with other seeds on other subjects, as the interval."
)
UNKNOWN = "unknown"
FEW_SUBJECTS = 5
"""Values with fewer subjects are put together where there are several such."""
AGE = (49, 59, 69)
MONTHS = (12, 36, 60, 96)
"""The last whole number of each band but the last one."""


def uncertainty_of(results: Results, arm: str, queries: pd.Index | None = None) -> dict[str, Any]:
    """Return the cells of `COLUMNS` for an arm's primary metric over these queries or all, and a `note`."""
    values = _values(results)[arm]
    found = crossed_mean(values if queries is None else values[queries], results.queries.subjects)
    errors = {"se_seeds": found.over_seeds.se, "se_subjects": found.over_subjects.se, "se_both": found.over_both.se}
    return {**vars(found), **errors, "low": found.over_both.low, "high": found.over_both.high}


@once
def _values(results: Results) -> dict[str, pd.DataFrame]:
    """Return the primary metric of each of the known arms, seeds × queries."""
    return {arm.name: results.queries.values(arm.name, results.metric) for arm in known_arms(results)}


def known_arms(results: Results) -> list[Any]:
    """Return the arms of which some replicate has its queries."""
    return [arm for arm in results.arms if results.queries.seeds(arm.name)]


def notes_on(results: Results, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what the rows of `uncertainty_of` note, how many of them do, and of which arms queries are not known."""
    lacking = {
        arm.label: sum(t.status == "completed" for t in results.of(arm.name, "replicate")) - len(seeds)
        for arm in results.arms
        for seeds in [results.queries.seeds(arm.name)]
    }
    said = [f"{label}: {count} of its completed seeds" for label, count in lacking.items() if count]
    counts = Counter(note for row in rows for note in row["note"].split("; ") if note)
    noted = [
        f"{note[0].upper()}{note[1:]}{'' if count == len(rows) else f' ({count} of {len(rows)} rows)'}."
        for note, count in counts.items()
    ]
    return [*noted, *([f"Without the queries of {'; '.join(said)}."] if said else [])]


def band_names(edges: Sequence[float]) -> list[str]:
    """Return `to 49`, `50 to 59`, …, `from 80`, of whole numbers."""
    between = [f"{before + 1:g} to {edge:g}" for before, edge in pairwise(edges)]
    return [f"to {edges[0]:g}", *between, f"from {edges[-1] + 1:g}"]


def banded(values: pd.Series, edges: Sequence[float]) -> pd.Series:
    """Return the name of each number's band, the lower one's between two whole numbers; blank without a number."""
    numbers = np.floor(pd.to_numeric(values, errors="coerce").astype(float))
    names = pd.Series(pd.cut(numbers, [-np.inf, *edges, np.inf], labels=band_names(edges)), dtype=object)
    return names.where(names.notna(), "")


def strata(values: pd.Series, subjects: pd.Series, order: list[str]) -> dict[str, pd.Index]:
    """Return the queries of each value in this order, then those put together, then the unknown; none is left out."""
    found = {value: queries for value in order if len(queries := values.index[values == value])}
    small = [value for value, queries in found.items() if subjects[queries].nunique() < FEW_SUBJECTS]
    if len(small) > 1:
        together = values.index[values.isin(small)]
        found = {value: queries for value, queries in found.items() if value not in small}
        found[", ".join(small)] = together
    unknown = values.index[values == ""]
    return found | ({UNKNOWN: unknown} if len(unknown) else {})


def years_apart(results: Results) -> bool:
    """Return whether queries are grouped by years: `MONTHS` would hold most of those of shorter intervals in a band."""
    return results.dated and results.interval == YEAR


def _by(name: str, title: str, column: str = "", bands: Sequence[float] = (), need: Need | None = None) -> Part[Table]:
    """Return the part with a row per value and arm, of the queries' `column`, or else `name`, by bands or sorted."""

    def make(results: Results) -> Table:
        values = results.queries.scored[column or name]
        if bands:
            values = banded(values, bands)
        order = band_names(bands) if bands else sorted(set(values) - {""})
        arms = known_arms(results)
        rows = [
            {name: value, "rule": arm is arms[0], "arm": arm} | uncertainty_of(results, arm.name, queries)
            for value, queries in strata(values, results.queries.scored["subject"], order).items()
            for arm in arms
        ]
        text = (
            f"Test {results.metric.label} in % by {title.lower()} of the query. Several values with fewer than "
            f"{FEW_SUBJECTS} subjects are merged; {UNKNOWN}: not in the data set."
        )
        columns, heading = [Column(name, title), ARM, *COLUMNS], f"{results.metric.label} by {title.lower()}"
        return Table(
            f"by_{name}", heading, caption(results, text), columns, rows, notes_on(results, rows), NO_QUERIES, how=WHAT
        )

    def known(results: Results) -> bool:
        """Say whether the data set says this of some test query."""
        scored = results.queries.scored
        return name in scored and bool((scored[name] != "").any())

    make.__name__ = f"by_{name}_table"
    return Part(make, Section.BY_QUERY, (need or known,))


by_interval_table = _by("interval", "Months after baseline", "months", MONTHS, years_apart)
by_grade_table = _by("grade", "Grade")  # of Kellgren and Lawrence
by_age_table = _by("age", "Age", bands=AGE)  # at the query's visit
by_sex_table = _by("sex", "Sex")
by_view_table = _by("view", "View")
by_disease_table = _by("disease", "Disease")
by_tkr_table = _by("tkr", "Knee replacement")  # whether the knee was replaced by that visit
by_side_table = _by("side", "Side")


@in_every_study(Section.MORE)
def uncertainty_table(results: Results) -> Table:
    """Return the primary metric of each arm over all queries, with its SE over seeds, over subjects, and over both."""
    rows = [{"arm": arm} | uncertainty_of(results, arm.name) for arm in known_arms(results)]
    text = f"Test {results.metric.label} in % over all queries."
    title = "Uncertainty over seeds and subjects"
    notes = notes_on(results, rows)
    return Table("uncertainty", title, caption(results, text), [ARM, *COLUMNS], rows, notes, NO_QUERIES, how=WHAT)


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
    text = f"Test {results.metric.label} in % by {between}."
    title, notes = f"Uncertainty over seeds and subjects by {interval.after_baseline}", notes_on(results, rows)
    return Table(f"uncertainty_by_{unit}", title, caption(results, text), columns, rows, notes, NO_QUERIES, how=WHAT)
