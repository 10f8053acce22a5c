"""The frames `metrics` and `years`: every metric of every trial in long form, over all years and by year."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fmim_core.metric_names import METRICS
from fmim_reports.frames.frame import Frame, FrameColumn
from fmim_reports.frames.shared import OF_TRIAL, of_trial, tested
from fmim_reports.reading.results import PlannedTrial, Results

_COLUMNS = (
    *OF_TRIAL,
    FrameColumn("metric", "string", f"{', '.join(METRICS)}"),
    FrameColumn("year", "Int64", "years between a query and its subject's baseline image; NA of all years together"),
    FrameColumn("queries", "Int64", "the queries that the value is the mean over; NA where the record does not tell"),
    FrameColumn("value", "float64", "the metric; NaN of a trial that measured none, or not in that year", "fraction"),
)


def _rows(trials: Sequence[PlannedTrial]) -> Iterator[dict[str, Any]]:
    """The rows of trials that measure on the same images: each has the years that any of them has."""
    years = [*sorted({year for trial in trials for year in trial.years}), None]
    for trial in trials:
        named = of_trial(trial)
        for name in METRICS:
            for year in years:
                queries = trial.metric("queries", year)
                yield named | {
                    "metric": name,
                    "year": year,
                    "queries": queries if queries >= 0 else None,
                    "value": trial.metric(name, year),
                }


def _of_every_trial(results: Results) -> list[dict[str, Any]]:
    validated = [trial for trial in results.every_trial if trial.stage == "search"]
    return [*_rows(validated), *_rows(tested(results.every_trial))]


METRIC_VALUES = Frame(
    "metrics",
    "a metric of a planned trial, over all years or one",
    lambda arms: _COLUMNS,
    _of_every_trial,
)
YEARS = Frame(
    "years",
    "a test metric of a replicate or reference, over all years or one; without those of other search splits",
    lambda arms: _COLUMNS,
    lambda results: list(_rows(tested(results.trials))),
)
