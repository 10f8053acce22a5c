"""The frame `trials`: every planned trial with its configuration, what it measured and what it cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from fmim_core.metric_names import METRICS
from fmim_core.records import THIS_STUDY, Cost, Record
from fmim_reports.frames.frame import Frame, field_column, trial_columns
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.data_columns import DataColumn, Dtype, configuration_columns

_SPLITS = {"validation": "the held-out fold", "test": "the test set"}
_WITH_ATTEMPTS = "with those of the attempts that failed before"
_REUSED = (
    f"the folder of the study with the equal trial whose record it took, or `{THIS_STUDY}`; NA where it ran itself"
)


def _recorded(of: Callable[[Record], Any]) -> Callable[[PlannedTrial], Any]:
    """Return what a trial's record says; None without a record."""
    return lambda trial: None if trial.record is None else of(trial.record)


def _measured(split: str, metric: str) -> Callable[[Record], float | None]:
    return lambda record: (getattr(record.metrics, split) or {}).get(metric)


def _sum(name: str, dtype: Dtype, unit: str = "") -> DataColumn:
    """Return the column of a cost that is added up over a trial's attempts; unknown if it is of one of them."""

    def of(record: Record) -> float | None:
        values = [getattr(cost, name) for cost in record.costs]
        return None if None in values else sum(values) if dtype == "Int64" else math.fsum(values)

    return field_column(Cost, name, dtype, unit, _recorded(of), _WITH_ATTEMPTS)


_BEGIN = (
    *trial_columns(),
    DataColumn("reason", "string", "why it did not complete; empty if it did", of=attrgetter("reason")),
    DataColumn("record", "string", "the file of its record in records/", of=attrgetter("file")),
)
_REST = (
    DataColumn("seed", "Int64", "the seed of its training", of=_recorded(attrgetter("seed"))),
    DataColumn(
        "kept_epoch",
        "Int64",
        "the epoch whose model was evaluated; of a fold ensemble its first member's",
        of=_recorded(attrgetter("kept_epoch")),
    ),
    *(
        DataColumn(
            f"{split}_{metric.name}",
            "float64",
            f"{metric.label} on {of_what}, all years",
            metric.unit,
            _recorded(_measured(split, metric.name)),
        )
        for split, of_what in _SPLITS.items()
        for metric in METRICS.values()
    ),
    *(_sum(name, "float64", "s") for name in ("startup_s", "data_s", "train_s", "eval_s", "lost_s", "wall_s")),
    DataColumn(
        "device_seconds",
        "float64",
        f"(start-up + data + training + evaluation + lost seconds) × device share; {_WITH_ATTEMPTS}",
        "s",
        _recorded(attrgetter("device_seconds")),
    ),
    _sum("energy_j", "float64", "J"),
    *(_sum(name, "Int64") for name in ("epochs", "images", "resumed")),
    DataColumn(
        "failed_attempts",
        "Int64",
        "attempts that failed before and were run again",
        of=_recorded(lambda record: len(record.attempts)),
    ),
    DataColumn("peak_memory", "Int64", "the most memory that was used", "B", _recorded(attrgetter("peak_memory"))),
    field_column(Cost, "device", "string", "", _recorded(attrgetter("cost.device"))),
    field_column(Cost, "device_share", "float64", "devices", _recorded(attrgetter("cost.device_share"))),
    *(
        DataColumn(name, "datetime64[us, UTC]", about, of=_recorded(attrgetter(name)))
        for name, about in (
            ("started_at", "when it began"),
            ("ended_at", "when it ended"),
            ("test_opened_at", "when it opened the test set; NA where it never did"),
        )
    ),
    DataColumn("reused_from", "string", _REUSED, of=lambda trial: trial.reused_from or None),
    DataColumn(
        "reused_trial",
        "string",
        "the name of that trial there",
        of=_recorded(lambda record: record.reused_from.trial if record.reused_from else None),
    ),
)


def _rows(results: Results) -> list[PlannedTrial]:
    return results.every_trial


TRIALS = Frame(
    "trials",
    "a planned trial, whatever its status, those on other search splits too",
    lambda arms, interval: [*_BEGIN, *configuration_columns(arms), *_REST],
    _rows,
)
