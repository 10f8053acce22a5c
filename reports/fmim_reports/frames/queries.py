"""The frame `queries`: what each replicate found for each test query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from fmim_core.metric_names import INTERVALS, Interval
from fmim_core.records import QUERY_COLUMNS, ArmEntry
from fmim_reports.frames.frame import Frame, tested, trial_columns
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.data_columns import DataColumn, Dtype

_DTYPES: dict[str, Dtype] = {"string": "string", "double": "float64", "int32": "Int64"}
_UNITS = {"months": "months"} | {interval.unit: interval.plural for interval in INTERVALS.values()}


class FoundQuery(NamedTuple):
    """A query with a trial, by the names of the file's columns."""

    trial: PlannedTrial
    query: Any


def _columns(arms: Sequence[ArmEntry], interval: Interval) -> list[DataColumn]:
    """Return those of the file, with the one column of time that the study's has."""
    of_trial = [column for column in trial_columns("trial.") if column.name not in ("search_split", "status")]
    seed = DataColumn("seed", "Int64", "the seed of its training", of=attrgetter("trial.record.seed"))
    others = INTERVALS.keys() - {interval.unit}
    return [*of_trial, seed, *(_of_query(name) for name in QUERY_COLUMNS if name not in others)]


def _of_query(name: str) -> DataColumn:
    column = QUERY_COLUMNS[name]
    about = f"{column.about}; NA where the data set does not have it" if column.optional else column.about
    unit = _UNITS.get(name, "")
    return DataColumn(name, _DTYPES[column.type], about, unit, lambda row: getattr(row.query, name, None))


def _rows(results: Results) -> Iterator[FoundQuery]:
    for trial in tested(results.trials):
        found = results.queries.found.get(trial.arm, {}).get(trial.replicate)
        if found is not None:
            whole = pd.concat([results.queries.asked, found], axis=1)
            yield from (FoundQuery(trial, query) for query in whole.itertuples(index=False))


QUERIES = Frame("queries", "a test query with a replicate or reference whose file of queries is whole", _columns, _rows)
