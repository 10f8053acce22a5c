"""The frame `trials`: every planned trial with its configuration, what it measured and what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fmim_core.metric_names import METRICS, Interval
from fmim_core.records import THIS_STUDY, ArmEntry, Cost, Record
from fmim_reports.frames.frame import Frame, field_column
from fmim_reports.frames.shared import OF_TRIAL, of_trial
from fmim_reports.reading.results import PlannedTrial
from fmim_reports.writing.data_columns import DataColumn, configuration_columns, of_configuration

_SPLITS = {"validation": "the held-out fold", "test": "the test set"}
_WITH_ATTEMPTS = "with those of the attempts that failed before"
_SECONDS = ("startup_s", "data_s", "train_s", "eval_s", "lost_s", "wall_s")
_COUNTS = ("epochs", "images", "resumed")

_BEGIN = (
    *OF_TRIAL,
    DataColumn("reason", "string", "why it did not complete; empty if it did"),
    DataColumn("record", "string", "the file of its record in records/"),
)
_MEASURED = (
    DataColumn("seed", "Int64", "the seed of its training"),
    DataColumn("kept_epoch", "Int64", "the epoch whose model was evaluated; of a fold ensemble its first member's"),
    *(
        DataColumn(f"{split}_{metric.name}", "float64", f"{metric.label} on {of_what}, all years", metric.unit)
        for split, of_what in _SPLITS.items()
        for metric in METRICS.values()
    ),
)
_COST = (
    *(field_column(Cost, name, "float64", "s", _WITH_ATTEMPTS) for name in _SECONDS),
    DataColumn(
        "device_seconds",
        "float64",
        f"(start-up + data + training + evaluation + lost seconds) × device share; {_WITH_ATTEMPTS}",
        "s",
    ),
    field_column(Cost, "energy_j", "float64", "J", _WITH_ATTEMPTS),
    *(field_column(Cost, name, "Int64", "", _WITH_ATTEMPTS) for name in _COUNTS),
    DataColumn("failed_attempts", "Int64", "attempts that failed before and were run again"),
    DataColumn("peak_memory", "Int64", "the most memory that was used", "B"),
    field_column(Cost, "device", "string"),
    field_column(Cost, "device_share", "float64", "devices"),
)
_TIMES = (
    DataColumn("started_at", "datetime64[us, UTC]", "when it began"),
    DataColumn("ended_at", "datetime64[us, UTC]", "when it ended"),
    DataColumn("test_opened_at", "datetime64[us, UTC]", "when it opened the test set; NA where it never did"),
    DataColumn(
        "reused_from",
        "string",
        f"the folder of the study with the equal trial whose record it took, or `{THIS_STUDY}`; NA where it ran itself",
    ),
    DataColumn("reused_trial", "string", "the name of that trial there"),
)


def _columns(arms: Sequence[ArmEntry], interval: Interval) -> list[DataColumn]:
    return [*_BEGIN, *configuration_columns(arms), *_MEASURED, *_COST, *_TIMES]


def _row(trial: PlannedTrial) -> dict[str, Any]:
    row = of_trial(trial) | {"reason": trial.reason, "record": trial.file} | of_configuration(trial.configuration)
    return row if trial.record is None else row | _of_record(trial.record)


def _of_record(record: Record) -> dict[str, Any]:
    measured = {"validation": record.metrics.validation, "test": record.metrics.test}
    energies = [cost.energy_j for cost in record.costs if cost.energy_j is not None]
    return {
        "seed": record.seed,
        "kept_epoch": record.kept_epoch,
        **{f"{split}_{name}": value for split, values in measured.items() for name, value in (values or {}).items()},
        **{name: math.fsum(getattr(cost, name) for cost in record.costs) for name in _SECONDS},
        **{name: sum(getattr(cost, name) for cost in record.costs) for name in _COUNTS},
        "device_seconds": record.device_seconds,
        "energy_j": math.fsum(energies) if len(energies) == len(record.costs) else None,
        "failed_attempts": len(record.attempts),
        "peak_memory": record.peak_memory,
        "device": record.cost.device,
        "device_share": record.cost.device_share,
        "started_at": _time(record.started_at),
        "ended_at": _time(record.ended_at),
        "test_opened_at": _time(record.test_opened_at),
        "reused_from": None if record.reused_from is None else record.reused_from.where,
        "reused_trial": None if record.reused_from is None else record.reused_from.trial,
    }


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


TRIALS = Frame(
    "trials",
    "a planned trial, whatever its status, those on other search splits too",
    _columns,
    lambda results: [_row(trial) for trial in results.every_trial],
)
