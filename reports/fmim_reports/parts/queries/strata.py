"""The primary metric by what is known of the queries: months since baseline, side, and each column about an image."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from fmim_core.metric_names import YEAR
from fmim_reports.parts.queries.uncertainty import COLUMNS, NO_QUERIES, WHAT, known_arms, notes_on, uncertainty_of
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.sections import Need, Part, Section
from fmim_reports.writing.tables import Column, Table

UNKNOWN = "unknown"
FEW_SUBJECTS = 5
"""Values with fewer subjects are put together where there are several such."""


AGE = (49, 59, 69)
MONTHS = (12, 36, 60, 96)
"""The last whole number of each band but the last one."""


def band_names(edges: Sequence[float]) -> list[str]:
    """Return `to 49`, `50 to 59`, …, `from 80`, of whole numbers."""
    between = [f"{before + 1:g} to {edge:g}" for before, edge in pairwise(edges)]
    return [f"to {edges[0]:g}", *between, f"from {edges[-1] + 1:g}"]


def banded(values: pd.Series, edges: Sequence[float]) -> pd.Series:
    """Return the name of each number's band, the lower one's between two whole numbers; blank without a number."""
    numbers = np.floor(pd.to_numeric(values, errors="coerce").astype(float))
    names = pd.Series(pd.cut(numbers, [-np.inf, *edges, np.inf], labels=band_names(edges)), dtype=object)
    return names.where(names.notna(), "")


def known(column: str) -> Need:
    """Return whether the data set says this of some test query, asked of the results."""

    def need(results: Results) -> bool:
        scored = results.queries.scored
        return column in scored and bool((scored[column] != "").any())

    return need


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
            f"Test {results.metric.label} in % by {title.lower()} of the query. {WHAT}. Values of fewer than "
            f"{FEW_SUBJECTS} subjects stand together where there are several; {UNKNOWN}: the data set does not say."
        )
        columns, heading = [Column(name, title), ARM, *COLUMNS], f"{results.metric.label} by {title.lower()}"
        return Table(f"by_{name}", heading, caption(results, text), columns, rows, notes_on(results, rows), NO_QUERIES)

    make.__name__ = f"by_{name}_table"
    return Part(make, Section.MORE, (need or known(name),))


by_interval_table = _by("interval", "Months after baseline", "months", MONTHS, years_apart)
by_grade_table = _by("grade", "Grade")  # of Kellgren and Lawrence
by_age_table = _by("age", "Age", bands=AGE)  # at the query's visit
by_sex_table = _by("sex", "Sex")
by_view_table = _by("view", "View")
by_disease_table = _by("disease", "Disease")
by_tkr_table = _by("tkr", "Knee replacement")  # whether the knee was replaced by that visit
by_side_table = _by("side", "Side")


def strata(values: pd.Series, subjects: pd.Series, order: list[str]) -> dict[str, pd.Index]:
    """Return the queries of each value in this order, then those put together, then the unknown; none is left out."""
    found = {value: values.index[values == value] for value in order}
    found = {value: queries for value, queries in found.items() if len(queries)}
    small = [value for value, queries in found.items() if subjects[queries].nunique() < FEW_SUBJECTS]
    if len(small) > 1:
        together = values.index[values.isin(small)]
        found = {value: queries for value, queries in found.items() if value not in small}
        found[", ".join(small)] = together
    unknown = values.index[values == ""]
    return found | ({UNKNOWN: unknown} if len(unknown) else {})
