"""The primary metric by what is known of the queries: months since baseline, side, and each column about an image."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Bands:
    """Ranges of a number: `edges` are the last numbers of all but the last one."""

    edges: tuple[float, ...]

    def names(self) -> list[str]:
        """Return `to 49`, `50 to 59`, …, `from 80`, of whole numbers."""
        starts = [f"{edge + 1:g}" for edge in self.edges]
        between = [f"{start} to {edge:g}" for start, edge in zip(starts, self.edges[1:], strict=False)]
        return [f"to {self.edges[0]:g}", *between, f"from {starts[-1]}"]

    def of(self, values: pd.Series) -> pd.Series:
        """Return the name of each number's range, the lower one's between two whole numbers; blank without a number."""
        numbers = np.floor(pd.to_numeric(values, errors="coerce").to_numpy(dtype=float))
        places = np.searchsorted(np.asarray(self.edges), numbers)
        named = np.asarray(self.names(), dtype=object)[places]
        return pd.Series(np.where(np.isnan(numbers), "", named), index=values.index)


AGE = Bands((49, 59, 69))
MONTHS = Bands((12, 36, 60, 96))


def known(column: str) -> Need:
    """Return whether the data set says this of some test query, asked of the results."""

    def need(results: Results) -> bool:
        scored = results.queries.scored
        return column in scored and bool((scored[column] != "").any())

    return need


def years_apart(results: Results) -> bool:
    """Return whether queries are grouped by years: `MONTHS` would hold most of those of shorter intervals in a band."""
    return results.dated and results.interval == YEAR


def _by(name: str, title: str, column: str = "", bands: Bands | None = None, need: Need | None = None) -> Part[Table]:
    """Return the part with a row per value and arm, of the queries' `column`, or else `name`, by bands or sorted."""

    def make(results: Results) -> Table:
        values = results.queries.scored[column or name]
        if bands:
            values = bands.of(values)
        order = bands.names() if bands else sorted(set(values) - {""})
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
