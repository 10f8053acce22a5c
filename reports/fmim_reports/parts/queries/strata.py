"""The primary metric by what is known of the queries: months since baseline, side, and each column about an image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fmim_core.metric_names import YEAR
from fmim_reports.parts.queries.uncertainty import COLUMNS, NO_QUERIES, WHAT, known_arms, notes_on, uncertainty_of
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Table

UNKNOWN = "unknown"
FEW_SUBJECTS = 5
"""Values with fewer subjects are put together where there are several such."""


@dataclass(frozen=True)
class Bands:
    """Ranges of a number: `edges` are the last numbers of all but the last one."""

    edges: tuple[float, ...]

    def names(self) -> list[str]:
        """`to 49`, `50 to 59`, …, `from 80`, of whole numbers."""
        starts = [f"{edge + 1:g}" for edge in self.edges]
        between = [f"{start} to {edge:g}" for start, edge in zip(starts, self.edges[1:], strict=False)]
        return [f"to {self.edges[0]:g}", *between, f"from {starts[-1]}"]

    def of(self, values: pd.Series) -> pd.Series:
        """The name of each number's range; a number between two whole ones belongs to the lower; blank without one."""
        numbers = np.floor(pd.to_numeric(values, errors="coerce").to_numpy(dtype=float))
        places = np.searchsorted(np.asarray(self.edges), numbers)
        named = np.asarray(self.names(), dtype=object)[places]
        return pd.Series(np.where(np.isnan(numbers), "", named), index=values.index)


AGE = Bands((49, 59, 69))
MONTHS = Bands((12, 36, 60, 96))


def known(column: str) -> Callable[[Results], bool]:
    """That the data set says this of some test query."""

    def need(results: Results) -> bool:
        scored = results.queries.scored
        return column in scored and bool((scored[column] != "").any())

    return need


def years_apart(results: Results) -> bool:
    """That its queries are grouped by years: of shorter intervals `MONTHS` would hold most queries in one band."""
    return results.dated and results.interval == YEAR


@in_every_study(Section.MORE, years_apart)
def by_interval_table(results: Results) -> Table:
    """By months after baseline."""
    return _table(results, "interval", "Months after baseline", "months", MONTHS)


@in_every_study(Section.MORE, known("grade"))
def by_grade_table(results: Results) -> Table:
    """By Kellgren-Lawrence grade."""
    return _table(results, "grade", "Grade")


@in_every_study(Section.MORE, known("age"))
def by_age_table(results: Results) -> Table:
    """By age at the query's visit."""
    return _table(results, "age", "Age", bands=AGE)


@in_every_study(Section.MORE, known("sex"))
def by_sex_table(results: Results) -> Table:
    """By sex."""
    return _table(results, "sex", "Sex")


@in_every_study(Section.MORE, known("view"))
def by_view_table(results: Results) -> Table:
    """By the view in which the image was taken."""
    return _table(results, "view", "View")


@in_every_study(Section.MORE, known("disease"))
def by_disease_table(results: Results) -> Table:
    """By whether the image shows a disease."""
    return _table(results, "disease", "Disease")


@in_every_study(Section.MORE, known("tkr"))
def by_tkr_table(results: Results) -> Table:
    """By whether the knee was replaced by that visit."""
    return _table(results, "tkr", "Knee replacement")


@in_every_study(Section.MORE, known("side"))
def by_side_table(results: Results) -> Table:
    """By side."""
    return _table(results, "side", "Side")


def _table(results: Results, name: str, title: str, column: str = "", bands: Bands | None = None) -> Table:
    """A row per value and arm, of the queries' `column` (`name` if none is given) by the bands, or else sorted."""
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
    columns = [Column(name, title), ARM, *COLUMNS]
    text = (
        f"Test {results.metric.label} in % by {title.lower()} of the query. {WHAT}. Values of fewer than "
        f"{FEW_SUBJECTS} subjects stand together where there are several; {UNKNOWN}: the data set does not say."
    )
    metric = results.metric.label
    notes = notes_on(results, rows)
    return Table(f"by_{name}", f"{metric} by {title.lower()}", caption(results, text), columns, rows, notes, NO_QUERIES)


def strata(values: pd.Series, subjects: pd.Series, order: list[str]) -> dict[str, pd.Index]:
    """The queries of each value in this order, then those put together, then the unknown; none is left out."""
    found = {value: values.index[values == value] for value in order}
    found = {value: queries for value, queries in found.items() if len(queries)}
    small = [value for value, queries in found.items() if subjects[queries].nunique() < FEW_SUBJECTS]
    if len(small) > 1:
        together = values.index[values.isin(small)]
        found = {value: queries for value, queries in found.items() if value not in small}
        found[", ".join(small)] = together
    unknown = values.index[values == ""]
    return found | ({UNKNOWN: unknown} if len(unknown) else {})
