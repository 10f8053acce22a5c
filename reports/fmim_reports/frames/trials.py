"""The frames `trials`, `epochs` and `arms`; and what a frame is: columns with type, unit and meaning, and rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd
from pydantic import BaseModel

from fmim_core.metric_names import METRICS, Interval, Metric
from fmim_core.records import ON_FOLDS, THIS_STUDY, ArmEntry, Cost, EpochRow, Record
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


def column(name: str, dtype: Dtype, about: str, unit: str = "", of: str = "") -> DataColumn:
    """Return the column of an attribute of rows: that of its name, or the one that the path `of` leads to."""
    return DataColumn(name, dtype, about, unit, attrgetter(of or name))


_TRIAL = "the trial's name, unique in the study; joins the frames"
_OF_TRIAL: tuple[tuple[str, Dtype, str], ...] = (
    ("arm", "string", "the arm's name, or the reference's in the stage `reference`"),
    ("stage", "string", "search or variation (on validation), replicate or reference (both on the test set)"),
    ("variation", "string", "the setting that a variation changes, and its factor; blank in other stages"),
    ("replicate", "int64", "the held-out fold, or else the number of the seed"),
    ("search_split", "int64", "the split into folds that its search uses; 0 is the study's own"),
    ("status", "string", "completed, stopped (by its search), diverged, failed, or missing (no record)"),
)


def trial_columns(path: str = "") -> list[DataColumn]:
    """Return the columns that say which trial a row is of; `path` leads from the row to the trial, as `trial.`."""
    return [
        column("trial", "string", _TRIAL, of=f"{path}name"),
        *(column(name, dtype, about, of=path + name) for name, dtype, about in _OF_TRIAL),
    ]


def tested(trials: Iterable[PlannedTrial]) -> list[PlannedTrial]:
    """Return those of the stages that measure on the test set."""
    return [trial for trial in trials if trial.stage not in ON_FOLDS]


_DEVICE_SECONDS = "(start-up + data + training + evaluation + lost seconds) × device share, without failed attempts"
_EQUAL = "the folder of the study with the equal trial whose record it reuses"
_TIME: Dtype = "datetime64[us, UTC]"


def _about(model: type[BaseModel], name: str) -> str:
    """Return the description of a record's field, or its name."""
    return model.model_fields[name].description or name.replace("_", " ")


def _recorded(
    name: str, dtype: Dtype, about: str, unit: str = "", of: Callable[[Record], Any] | None = None
) -> DataColumn:
    """Return the column of what a trial's record says, its attribute of that name or `of` it; NA without a record."""
    said = of or attrgetter(name)
    return DataColumn(name, dtype, about, unit, lambda trial: None if trial.record is None else said(trial.record))


def _measured(split: str, metric: Metric, of_what: str) -> DataColumn:
    about = f"{metric.label} on {of_what}, all years"
    name = f"{split}_{metric.name}"
    return _recorded(
        name, "float64", about, metric.unit, lambda record: (getattr(record.metrics, split) or {}).get(metric.name)
    )


def _cost(name: str, dtype: Dtype, unit: str = "") -> DataColumn:
    """Return the column of a part of a trial's cost, without that of attempts that failed before."""
    return _recorded(name, dtype, _about(Cost, name), unit, attrgetter(f"cost.{name}"))


_BEGIN = (
    *trial_columns(),
    column("reason", "string", "the reason if it did not complete; else empty"),
    column("record", "string", "file of its record in records/", of="file"),
)
_REST = (
    _recorded("seed", "Int64", "seed of its training"),
    _recorded("kept_epoch", "Int64", "the epoch of the evaluated model; of a fold ensemble, its first model"),
    *(_measured("validation", metric, "the held-out fold") for metric in METRICS.values()),
    *(_measured("test", metric, "the test set") for metric in METRICS.values()),
    *(_cost(name, "float64", "s") for name in ("startup_s", "data_s", "train_s", "eval_s", "lost_s", "wall_s")),
    _recorded("device_seconds", "float64", _DEVICE_SECONDS, "s", attrgetter("cost.device_seconds")),
    _cost("energy_j", "float64", "J"),
    *(_cost(name, "Int64") for name in ("epochs", "images", "resumed")),
    _recorded("failed_attempts", "Int64", "number of earlier attempts that failed", of=lambda one: len(one.attempts)),
    _recorded("wasted_s", "float64", "device-seconds of these attempts", "s"),
    _recorded("peak_memory", "Int64", "peak memory", "B"),
    _recorded("device", "string", _about(Cost, "device"), of=attrgetter("cost.device")),
    _recorded("device_share", "float64", _about(Cost, "device_share"), "devices", attrgetter("cost.device_share")),
    _recorded("started_at", _TIME, "time of its start"),
    _recorded("ended_at", _TIME, "time of its end"),
    _recorded("test_opened_at", _TIME, "time at which it opened the test set; NA if it never did"),
    DataColumn(
        "reused_from",
        "string",
        f"{_EQUAL}, or `{THIS_STUDY}`; NA if it ran itself",
        of=lambda trial: trial.reused_from or None,
    ),
    _recorded(
        "reused_trial",
        "string",
        "name of that trial there",
        of=lambda one: one.reused_from.trial if one.reused_from else None,
    ),
)
TRIALS = Frame(
    "trials",
    "a planned trial with any status, also of other search splits",
    lambda arms, interval: [*_BEGIN, *configuration_columns(arms, attrgetter("configuration")), *_REST],
    attrgetter("every_trial"),
)


class TrainedEpoch(NamedTuple):
    """An epoch of a trial, or of a model of its fold ensemble."""

    trial: PlannedTrial
    member: int | None
    epoch: EpochRow


def _epochs(results: Results) -> Iterator[TrainedEpoch]:
    for trial in results.every_trial:
        if trial.record is not None:
            folds: list[int | None] = [member.fold for member in trial.record.members] or [None]
            for member, history in zip(folds, trial.record.histories, strict=True):
                yield from (TrainedEpoch(trial, member, epoch) for epoch in history)


def _of_epoch(name: str, dtype: Dtype = "float64", unit: str = "", about: str = "") -> DataColumn:
    return column(name, dtype, about or _about(EpochRow, name), unit, f"epoch.{name}")


_SIMILARITY, _NO_MARGIN = "cosine similarity", "of the epoch; NaN if the loss has none"
_EPOCH_COLUMNS = (
    *trial_columns("trial."),
    column("member", "Int64", "the fold that a model of a fold ensemble was not trained on; NA for one model"),
    _of_epoch("epoch", "int64"),
    _of_epoch("loss"),
    _of_epoch("epsilon", unit=_SIMILARITY, about=f"the margin ε {_NO_MARGIN}"),
    _of_epoch("beta", unit=_SIMILARITY, about=f"the margin β {_NO_MARGIN}"),
    *(_of_epoch(name, unit=_SIMILARITY) for name in ("delta_mean", "phi_an_mean", "phi_ap_mean")),
    _of_epoch("active_share", unit="fraction"),
    _of_epoch("batches", "int64"),
    _of_epoch("empty_batches", "int64"),
    _of_epoch("subjects_seen_share", unit="fraction"),
    *(_of_epoch(name, unit="fraction") for name in ("validation_mAP", "all_pairs_mAP")),
    _of_epoch("learning_rate"),
    _of_epoch("seconds", unit="s"),
)
EPOCHS = Frame(
    "epochs", "an epoch of a training, also of failed and stopped ones", lambda arms, interval: _EPOCH_COLUMNS, _epochs
)

_ARM_COLUMNS = (
    column("arm", "string", "the arm's name, as in the other frames", of="name"),
    column("label", "string", "its name in reports"),
    column("loss", "string", "its loss"),
    column("group", "string", "what related arms share: their loss, or their backbone"),
    column("search", "string", "how its values are set"),
    column("n_s_planned", "int64", "number of configurations that its search may train", of="planned_n_s"),
    column("n_s", "int64", "number of distinct configurations that its search has trained", of="cost.n_s"),
    column("replicates_planned", "int64", "number of fresh seeds of its selected configuration", of="test.of"),
    column("replicates", "int64", "number of fresh seeds that completed", of="test.stat.n"),
    DataColumn(
        "selected",
        "boolean",
        "whether its configuration is selected; the next columns have it",
        of=lambda arm: arm.configuration is not None,
    ),
)
ARMS = Frame(
    "arms",
    "an arm",
    lambda arms, interval: [*_ARM_COLUMNS, *configuration_columns(arms, attrgetter("configuration"))],
    arm_summaries,
)
