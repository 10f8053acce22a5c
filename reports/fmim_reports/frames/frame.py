"""What a tidy frame of a study is: columns that say their type, unit and meaning, and one row for each thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pydantic import BaseModel

from fmim_core.metric_names import Interval
from fmim_core.records import ArmEntry
from fmim_reports.reading.results import Results
from fmim_reports.writing.data_columns import DataColumn, Dtype


@dataclass(frozen=True)
class Frame:
    """A tidy frame by name: what one row is, its columns in a study of such arms and such an interval, and its rows.

    Rows may have more than the columns.
    """

    name: str
    row: str
    columns: Callable[[Sequence[ArmEntry], Interval], Sequence[DataColumn]]
    rows: Callable[[Results], Sequence[Mapping[str, Any]] | pd.DataFrame]

    def of(self, results: Results) -> pd.DataFrame:
        """The frame of a study; without rows it has the same columns and types."""
        dtypes = {column.name: column.dtype for column in self._columns_in(results)}
        # As objects, since a seed has 63 bits, which a column of numbers would lose beside one that is missing.
        return pd.DataFrame(self.rows(results), columns=pd.Index(dtypes), dtype=object).astype(dtypes)

    def description(self, results: Results) -> pd.DataFrame:
        """One row per column of the frame: column, dtype, unit, description."""
        rows = [(column.name, column.dtype, column.unit, column.description) for column in self._columns_in(results)]
        return pd.DataFrame(rows, columns=["column", "dtype", "unit", "description"], dtype="string")

    def _columns_in(self, results: Results) -> Sequence[DataColumn]:
        return self.columns(results.arms, results.interval)


def field_column(model: type[BaseModel], name: str, dtype: Dtype, unit: str = "", more: str = "") -> DataColumn:
    """The column of a field of a record, described as the record describes it, and by what there is `more` to say."""
    described = [model.model_fields[name].description or name.replace("_", " "), more]
    return DataColumn(name, dtype, "; ".join(part for part in described if part), unit)
