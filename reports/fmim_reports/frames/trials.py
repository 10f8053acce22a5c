"""The frames `trials`, `epochs` and `arms`; and what a frame is: columns with type, unit and meaning, and rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd
from pydantic import BaseModel

from fmim_core.metric_names import METRICS, Interval
from fmim_core.records import THIS_STUDY, ArmEntry, Cost, EpochRow, Record
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.reading.summary import arm_summaries
from fmim_reports.writing.kinds import DataColumn, Dtype, configuration_columns


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


_configuration = partial(configuration_columns, of=attrgetter("configuration"))
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
    lambda arms, interval: [*_BEGIN, *_configuration(arms), *_REST],
    _rows,
)


class TrainedEpoch(NamedTuple):
    """An epoch of a trial, or of a model of its fold ensemble."""

    trial: PlannedTrial
    member: int | None
    epoch: EpochRow


def _of_epoch(name: str, dtype: Dtype = "float64", unit: str = "") -> DataColumn:
    return field_column(EpochRow, name, dtype, unit, attrgetter(f"epoch.{name}"))


def _margin(name: str, symbol: str) -> DataColumn:
    about = f"the margin {symbol} in force; NaN where the loss has none"
    return DataColumn(name, "float64", about, "cosine similarity", attrgetter(f"epoch.{name}"))


_MEMBER = "the fold that a model of a fold ensemble was trained without; NA of one model"
_EPOCH_COLUMNS = (
    *trial_columns("trial."),
    DataColumn("member", "Int64", _MEMBER, of=attrgetter("member")),
    _of_epoch("epoch", "int64"),
    _of_epoch("loss"),
    _margin("epsilon", "ε"),
    _margin("beta", "β"),
    *(_of_epoch(name, unit="cosine similarity") for name in ("delta_mean", "phi_an_mean", "phi_ap_mean")),
    _of_epoch("active_share", unit="fraction"),
    _of_epoch("batches", "int64"),
    _of_epoch("empty_batches", "int64"),
    _of_epoch("subjects_seen_share", unit="fraction"),
    _of_epoch("validation_mAP", unit="fraction"),
    _of_epoch("seconds", unit="s"),
)


def _epochs(results: Results) -> Iterator[TrainedEpoch]:
    for trial in results.every_trial:
        if trial.record is not None:
            folds: list[int | None] = [member.fold for member in trial.record.members] or [None]
            for member, history in zip(folds, trial.record.histories, strict=True):
                yield from (TrainedEpoch(trial, member, epoch) for epoch in history)


EPOCHS = Frame(
    "epochs", "an epoch of a training, of failed and stopped ones too", lambda arms, interval: _EPOCH_COLUMNS, _epochs
)


_ARM_COLUMNS = (
    DataColumn("arm", "string", "the arm's name, as in the other frames", of=attrgetter("name")),
    DataColumn("label", "string", "what it is called in reports", of=attrgetter("label")),
    DataColumn("loss", "string", "its loss", of=attrgetter("loss")),
    DataColumn(
        "group", "string", "what it shares with the arms beside it: its loss, or its backbone", of=attrgetter("group")
    ),
    DataColumn("search", "string", "how its values are set", of=attrgetter("search")),
    DataColumn("n_s_planned", "int64", "configurations that its search may train", of=attrgetter("planned_n_s")),
    DataColumn("n_s", "int64", "distinct configurations that its search has trained", of=attrgetter("cost.n_s")),
    DataColumn("replicates_planned", "int64", "fresh seeds of its selected configuration", of=attrgetter("test.of")),
    DataColumn("replicates", "int64", "those that completed", of=attrgetter("test.stat.n")),
    DataColumn(
        "selected",
        "boolean",
        "whether its configuration is fixed, which the next columns have",
        of=lambda arm: arm.configuration is not None,
    ),
)

ARMS = Frame(
    "arms",
    "an arm",
    lambda arms, interval: [*_ARM_COLUMNS, *configuration_columns(arms, attrgetter("configuration"))],
    arm_summaries,
)
