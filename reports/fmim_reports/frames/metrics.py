"""The frames `metrics` and `years`: every metric of every trial in long form, over all times and by each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from fmim_core.metric_names import METRICS, Interval
from fmim_core.records import ArmEntry
from fmim_reports.frames.frame import Frame, tested, trial_columns
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.data_columns import DataColumn


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
    between = f"{times} between a query and its subject's baseline image; NA of all {times} together"
    queries = "the queries that the value is the mean over; NA where the record has none"
    value = f"the metric; NaN of a trial that has none, or not of that {unit}"
    return (
        *trial_columns("trial."),
        DataColumn("metric", "string", ", ".join(METRICS), of=attrgetter("metric")),
        DataColumn(unit, "Int64", between, of=attrgetter("time")),
        DataColumn("queries", "Int64", queries, of=attrgetter("queries")),
        DataColumn("value", "float64", value, "fraction", attrgetter("value")),
    )


def _rows(trials: Sequence[PlannedTrial]) -> Iterator[MeasuredMetric]:
    """Yield the rows of trials that measure on the same images: each has the times that any of them has."""
    times = [*sorted({time for trial in trials for time in trial.times}), None]
    return (MeasuredMetric(trial, name, time) for trial in trials for name in METRICS for time in times)


def _of_every_trial(results: Results) -> list[MeasuredMetric]:
    validated = [trial for trial in results.every_trial if trial.stage == "search"]
    return [*_rows(validated), *_rows(tested(results.every_trial))]


METRIC_VALUES = Frame(
    "metrics",
    "a metric of a planned trial, over all years after baseline or one; or by the data set's own interval",
    _columns,
    _of_every_trial,
)
YEARS = Frame(
    "years",
    "as `metrics`, on the test set alone and without other search splits",
    _columns,
    lambda results: _rows(tested(results.trials)),
)
