"""The frames `metrics` and `years`: every metric of every trial in long form, over all times and by each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fmim_core.metric_names import METRICS, Interval
from fmim_core.records import ArmEntry
from fmim_reports.frames.frame import Frame
from fmim_reports.frames.shared import OF_TRIAL, of_trial, tested
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.data_columns import DataColumn


def _columns(arms: Sequence[ArmEntry], interval: Interval) -> tuple[DataColumn, ...]:
    unit, times = interval.unit, interval.plural
    between = f"{times} between a query and its subject's baseline image; NA of all {times} together"
    return (
        *OF_TRIAL,
        DataColumn("metric", "string", f"{', '.join(METRICS)}"),
        DataColumn(unit, "Int64", between),
        DataColumn("queries", "Int64", "the queries that the value is the mean over; NA where the record has none"),
        DataColumn("value", "float64", f"the metric; NaN of a trial that has none, or not of that {unit}", "fraction"),
    )


def _rows(results: Results, trials: Sequence[PlannedTrial]) -> Iterator[dict[str, Any]]:
    """The rows of trials that measure on the same images: each has the times that any of them has."""
    times = [*sorted({time for trial in trials for time in trial.times}), None]
    for trial in trials:
        named = of_trial(trial)
        for name in METRICS:
            for time in times:
                queries = trial.metric("queries", time)
                yield named | {
                    "metric": name,
                    results.interval.unit: time,
                    "queries": queries if queries >= 0 else None,
                    "value": trial.metric(name, time),
                }


def _of_every_trial(results: Results) -> list[dict[str, Any]]:
    validated = [trial for trial in results.every_trial if trial.stage == "search"]
    return [*_rows(results, validated), *_rows(results, tested(results.every_trial))]


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
    lambda results: list(_rows(results, tested(results.trials))),
)
