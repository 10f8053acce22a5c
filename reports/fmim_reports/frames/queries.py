"""The frame `queries`: what each replicate found for each test query."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fmim_core.metric_names import INTERVALS, Interval
from fmim_core.records import QUERY_COLUMNS, ArmEntry
from fmim_reports.frames.frame import Frame
from fmim_reports.frames.shared import OF_TRIAL, of_trial, tested
from fmim_reports.reading.results import Results
from fmim_reports.writing.data_columns import DataColumn, Dtype

_DTYPES: dict[str, Dtype] = {"string": "string", "double": "float64", "int32": "Int64"}
_UNITS = {"months": "months"} | {interval.unit: interval.plural for interval in INTERVALS.values()}
_OF_TRIAL = tuple(column for column in OF_TRIAL if column.name not in ("search_split", "status"))


def _columns(arms: Sequence[ArmEntry], interval: Interval) -> tuple[DataColumn, ...]:
    """Those of the file, with the one column of time that the study's has."""
    others = INTERVALS.keys() - {interval.unit}
    of_query = [
        DataColumn(
            name,
            _DTYPES[column.type],
            f"{column.about}; NA where the data set does not have it" if column.optional else column.about,
            _UNITS.get(name, ""),
        )
        for name, column in QUERY_COLUMNS.items()
        if name not in others
    ]
    return (*_OF_TRIAL, DataColumn("seed", "Int64", "the seed of its training"), *of_query)


def _rows(results: Results) -> pd.DataFrame:
    parts = []
    for trial in tested(results.trials):
        found = results.queries.found.get(trial.arm, {}).get(trial.replicate)
        if found is not None and trial.record is not None:
            whole = pd.concat([results.queries.asked, found], axis=1)
            parts.append(whole.assign(**of_trial(trial), seed=trial.record.seed))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


QUERIES = Frame(
    "queries",
    "a test query with a replicate or reference whose file of queries is whole",
    _columns,
    _rows,
)
