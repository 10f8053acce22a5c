"""Tidy frames of a study: columns that say their type, unit and meaning, and one row for each thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pandas as pd
from pydantic import BaseModel

from fmim_core.metric_names import Interval
from fmim_core.records import ArmEntry
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.data_columns import DataColumn, Dtype


@dataclass(frozen=True)
class Frame:
    """A tidy frame by name: what one row is, its columns in a study of such arms and such an interval, and its rows.

    A row is an object of which each column has its value.
    """

    name: str
    row: str
    columns: Callable[[Sequence[ArmEntry], Interval], Sequence[DataColumn]]
    rows: Callable[[Results], Iterable[Any]]

    def of(self, results: Results) -> pd.DataFrame:
        """Return the frame of a study; without rows it has the same columns and types."""
        columns, rows = self.columns(results.arms, results.interval), list(self.rows(results))
        # As objects, since a seed has 63 bits, which a column of numbers would lose beside one that is missing.
        values = {column.name: [column.of(row) for row in rows] for column in columns}
        return pd.DataFrame(values, dtype=object).astype({column.name: column.dtype for column in columns})

    def description(self, results: Results) -> pd.DataFrame:
        """Return one row per column of the frame: column, dtype, unit, description."""
        columns = self.columns(results.arms, results.interval)
        rows = [(column.name, column.dtype, column.unit, column.description) for column in columns]
        return pd.DataFrame(rows, columns=["column", "dtype", "unit", "description"], dtype="string")


def field_column(
    model: type[BaseModel], name: str, dtype: Dtype, unit: str, of: Callable[[Any], Any], more: str = ""
) -> DataColumn:
    """Return the column of a field of a record, described as the record describes it, and by what there is `more`."""
    described = [model.model_fields[name].description or name.replace("_", " "), more]
    return DataColumn(name, dtype, "; ".join(part for part in described if part), unit, of)


_OF_TRIAL: dict[str, tuple[Dtype, str]] = {
    "trial": ("string", "the trial's name, by which frames can be joined; unique in the study"),
    "arm": ("string", "the arm's name; in the stage `reference` the reference's"),
    "stage": ("string", "search (on validation), replicate or reference (both on the test set)"),
    "replicate": ("int64", "the fold in the stage `search`, the number of the seed in the others"),
    "search_split": ("int64", "the split into folds that its search is on; 0 is the study's own"),
    "status": ("string", "completed, stopped (by its search), diverged, failed, or missing (no record)"),
}


def trial_columns(path: str = "") -> list[DataColumn]:
    """Return the columns that say which trial a row is of; `path` leads from the row to the trial, as `trial.`."""
    attributes = {name: "name" if name == "trial" else name for name in _OF_TRIAL}
    return [
        DataColumn(name, dtype, about, of=attrgetter(path + attributes[name]))
        for name, (dtype, about) in _OF_TRIAL.items()
    ]


def tested(trials: Iterable[PlannedTrial]) -> list[PlannedTrial]:
    """Return those of the stages that measure on the test set."""
    return [trial for trial in trials if trial.stage != "search"]
