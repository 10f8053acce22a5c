"""The frame `epochs`: what the records say of each epoch of each training."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from fmim_core.records import EpochRow
from fmim_reports.frames.frame import Frame, field_column, trial_columns
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.data_columns import DataColumn, Dtype


class TrainedEpoch(NamedTuple):
    """An epoch of a trial, or of a model of its fold ensemble."""

    trial: PlannedTrial
    member: int | None
    epoch: EpochRow


def _field(name: str, dtype: Dtype = "float64", unit: str = "") -> DataColumn:
    return field_column(EpochRow, name, dtype, unit, attrgetter(f"epoch.{name}"))


def _margin(name: str, symbol: str) -> DataColumn:
    about = f"the margin {symbol} in force; NaN where the loss has none"
    return DataColumn(name, "float64", about, "cosine similarity", attrgetter(f"epoch.{name}"))


_MEMBER = "the fold that a model of a fold ensemble was trained without; NA of one model"
_COLUMNS = (
    *trial_columns("trial."),
    DataColumn("member", "Int64", _MEMBER, of=attrgetter("member")),
    _field("epoch", "int64"),
    _field("loss"),
    _margin("epsilon", "ε"),
    _margin("beta", "β"),
    *(_field(name, unit="cosine similarity") for name in ("delta_mean", "phi_an_mean", "phi_ap_mean")),
    _field("active_share", unit="fraction"),
    _field("batches", "int64"),
    _field("empty_batches", "int64"),
    _field("subjects_seen_share", unit="fraction"),
    _field("validation_mAP", unit="fraction"),
    _field("seconds", unit="s"),
)


def _rows(results: Results) -> Iterator[TrainedEpoch]:
    for trial in results.every_trial:
        if trial.record is not None:
            folds: list[int | None] = [member.fold for member in trial.record.members] or [None]
            for member, history in zip(folds, trial.record.histories, strict=True):
                yield from (TrainedEpoch(trial, member, epoch) for epoch in history)


EPOCHS = Frame(
    "epochs", "an epoch of a training, of failed and stopped ones too", lambda arms, interval: _COLUMNS, _rows
)
