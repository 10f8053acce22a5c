"""The frame `epochs`: what the records say of each epoch of each training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fmim_core.records import EpochRow
from fmim_reports.frames.frame import Frame, field_column
from fmim_reports.frames.shared import OF_TRIAL, of_trial
from fmim_reports.reading.results import Results
from fmim_reports.writing.data_columns import DataColumn

_COLUMNS = (
    *OF_TRIAL,
    DataColumn("member", "Int64", "the fold that a model of a fold ensemble was trained without; NA of one model"),
    field_column(EpochRow, "epoch", "int64"),
    field_column(EpochRow, "loss", "float64"),
    DataColumn("epsilon", "float64", "the margin ε in force; NaN where the loss has none", "cosine similarity"),
    DataColumn("beta", "float64", "the margin β in force; NaN where the loss has none", "cosine similarity"),
    field_column(EpochRow, "delta_mean", "float64", "cosine similarity"),
    field_column(EpochRow, "phi_an_mean", "float64", "cosine similarity"),
    field_column(EpochRow, "phi_ap_mean", "float64", "cosine similarity"),
    field_column(EpochRow, "active_share", "float64", "fraction"),
    field_column(EpochRow, "batches", "int64"),
    field_column(EpochRow, "empty_batches", "int64"),
    field_column(EpochRow, "subjects_seen_share", "float64", "fraction"),
    field_column(EpochRow, "validation_mAP", "float64", "fraction"),
    field_column(EpochRow, "seconds", "float64", "s"),
)


def _rows(results: Results) -> Iterator[dict[str, Any]]:
    for trial in results.every_trial:
        record = trial.record
        if record is None:
            continue
        folds: Sequence[int | None] = [member.fold for member in record.members] or [None]
        for member, history in zip(folds, record.histories, strict=True):
            yield from (dict(epoch) | of_trial(trial) | {"member": member} for epoch in history)


EPOCHS = Frame(
    "epochs",
    "an epoch of a training, of failed and stopped ones too",
    lambda arms, interval: _COLUMNS,
    lambda results: list(_rows(results)),
)
