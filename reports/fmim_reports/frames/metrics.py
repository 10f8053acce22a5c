"""The frames `metrics` and `years`, every metric of every trial in long form, and `queries`, what each found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from fmim_core.metric_names import INTERVALS, METRICS, Interval
from fmim_core.records import ON_FOLDS, QUERY_COLUMNS, ArmEntry
from fmim_reports.frames.trials import Frame, column, tested, trial_columns
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.kinds import DataColumn, Dtype


class MeasuredMetric(NamedTuple):
    """A metric of a trial, at a time after baseline or over all."""

    trial: PlannedTrial
    metric: str
    time: int | None

    @property
    def queries(self) -> float | None:
        queries = self.trial.metric("queries", self.time)
        return queries if queries >= 0 else None

    @property
    def value(self) -> float:
        return self.trial.metric(self.metric, self.time)


def _columns(arms: Sequence[ArmEntry], interval: Interval) -> tuple[DataColumn, ...]:
    unit, times = interval.unit, interval.plural
    between = f"{times} between a query and its subject's baseline image; NA for all {times} together"
    queries = "number of queries that the value is the mean of; NA if the record has none"
    value = f"value of the metric; NaN if the trial does not have it, or not for that {unit}"
    return (
        *trial_columns("trial."),
        column("metric", "string", ", ".join(METRICS)),
        column(unit, "Int64", between, of="time"),
        column("queries", "Int64", queries),
        column("value", "float64", value, "fraction"),
    )


def _rows(trials: Sequence[PlannedTrial]) -> Iterator[MeasuredMetric]:
    """Yield the rows of trials that measure on the same images: each has the times that any of them has."""
    times = [*sorted({time for trial in trials for time in trial.times}), None]
    return (MeasuredMetric(trial, name, time) for trial in trials for name in METRICS for time in times)


def _of_every_trial(results: Results) -> list[MeasuredMetric]:
    validated = [trial for trial in results.every_trial if trial.stage in ON_FOLDS]
    return [*_rows(validated), *_rows(tested(results.every_trial))]


METRIC_VALUES = Frame(
    "metrics",
    "a metric of a planned trial, for all years after baseline or one (or the data set's own interval)",
    _columns,
    _of_every_trial,
)
YEARS = Frame(
    "years",
    "like `metrics`, but only on the test set and without other search splits",
    _columns,
    lambda results: _rows(tested(results.trials)),
)


_DTYPES: dict[str, Dtype] = {"string": "string", "double": "float64", "int32": "Int64"}
_UNITS = {"months": "months"} | {interval.unit: interval.plural for interval in INTERVALS.values()}


class FoundQuery(NamedTuple):
    """A query with a trial, by the names of the file's columns."""

    trial: PlannedTrial
    query: Any


def _query_columns(arms: Sequence[ArmEntry], interval: Interval) -> list[DataColumn]:
    """Return those of the file, with the one column of time that the study's has."""
    of_trial = [one for one in trial_columns("trial.") if one.name not in ("search_split", "status")]
    found = [column("seed", "Int64", "seed of its training", of="trial.record.seed")]
    for name, kept in QUERY_COLUMNS.items():
        if name == interval.unit or name not in INTERVALS:
            about = f"{kept.about}; NA if the data set does not have it" if kept.optional else kept.about
            found.append(column(name, _DTYPES[kept.type], about, _UNITS.get(name, ""), of=f"query.{name}"))
    return [*of_trial, *found]


def _found_queries(results: Results) -> Iterator[FoundQuery]:
    for trial in tested(results.trials):
        found = results.queries.found.get(trial.arm, {}).get(trial.replicate)
        if found is not None:
            whole = pd.concat([results.queries.asked, found], axis=1).reindex(columns=list(QUERY_COLUMNS))
            yield from (FoundQuery(trial, query) for query in whole.itertuples(index=False))


QUERIES = Frame(
    "queries",
    "a test query of a replicate or reference whose file of queries is intact",
    _query_columns,
    _found_queries,
)
