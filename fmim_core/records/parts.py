"""The parts of a record: what was measured, what it cost, and where it was taken from."""

from __future__ import annotations

import math
from typing import Annotated, Literal, TypeVar

from pydantic import Field, field_validator

from fmim_core.metric_names import split_key
from fmim_core.records.document import DocumentPart, DottedName, Name, Time

Stage = Literal["search", "variation", "replicate", "reference"]
"""The purpose of a trial: `search` selects a configuration; `variation` trains the selected one with one setting
changed, to see if a comparison depends on it; `replicate` tests it; `reference` tests something untrained."""

ON_FOLDS: tuple[Stage, ...] = ("search", "variation")
"""Stages whose trials hold out a fold, measure on it, and never read the test set."""
OF_WINNER: tuple[Stage, ...] = ("variation", "replicate")
"""Stages that train only selected configurations."""

TestProtocol = Literal["retrained", "fold_ensemble"]
"""The models that a replicate tests: one `retrained` on all development subjects; or one per fold, each validated on
the fold that it was not trained on, with distances averaged."""

MetricValues = dict[str, float]

Status = Literal["completed", "stopped", "diverged", "failed"]


class Cost(DocumentPart):
    """The cost of a trial, or of an attempt at it.

    `wall_s` includes the waiting between epochs, but the parts do not. `resumed` counts interruptions after
    which the trial was resumed from a checkpoint; the seconds between them are in no record, since no process was
    left to write them.
    """

    startup_s: float = Field(0.0, description="seconds from the start to the first epoch, with compiling")
    data_s: float = Field(0.0, description="seconds spent drawing batches and waiting for their images")
    train_s: float = Field(0.0, description="seconds spent in training steps, with augmentation")
    eval_s: float = Field(0.0, description="seconds spent embedding and scoring")
    lost_s: float = Field(0.0, description="seconds of a worker that died, of unknown use")
    wall_s: float = Field(0.0, description="seconds from start to end")
    energy_j: float | None = Field(None, description="joules × the share of the GPU; null if not measured")
    device: str = Field("none", description="the GPU's name, or cpu")
    device_share: float = Field(0.0, description="share of a GPU, or number of CPU cores")
    epochs: int = Field(0, description="epochs trained")
    images: int = Field(0, description="training images shown, with repeats")
    resumed: int = Field(0, description="interruptions after which the trial was resumed from a checkpoint")

    @property
    def parts_s(self) -> float:
        """Seconds of start-up, data, training and evaluation."""
        return math.fsum((self.startup_s, self.data_s, self.train_s, self.eval_s))

    @property
    def device_seconds(self) -> float:
        """(start-up + data + training + evaluation + lost seconds) × device share."""
        return (self.parts_s + self.lost_s) * self.device_share


class TrialError(DocumentPart):
    """The error that ended a trial or an attempt; an attempt keeps no traceback."""

    kind: str | None = Field(None, description="class of the error, or `out of memory`, or `worker died`")
    message: str | None = Field(None, description="message of the error")
    traceback: str | None = Field(None, description="where it was raised")


class Attempt(DocumentPart):
    """A failed attempt at a trial that was run again, without the part that a later attempt resumed from."""

    status: Status = Field(description="how it ended")
    cost: Cost = Field(description="its cost")
    error: TrialError = Field(description="the error that ended it")
    started_at: Time = Field(description="when it began, ISO 8601")
    ended_at: Time = Field(description="when it ended, ISO 8601")


class SoFar(DocumentPart):
    """The part of a trial's record that is known before it ends: its start and its cost."""

    started_at: str
    cost: Cost
    attempts: tuple[Attempt, ...] = ()


_T = TypeVar("_T")
Absent = Annotated[_T | None, Field(exclude_if=lambda value: value is None)]
"""A field that is left out of the file if it has no value."""


class EpochRow(DocumentPart):
    """One epoch of a training. Margins are those used in it; NaN if the loss has none."""

    epoch: int = Field(description="from 1")
    loss: float = Field(description="mean loss over batches")
    epsilon: float = Field(description="the margin ε")
    beta: float = Field(description="the margin β")
    delta_mean: float = Field(description="mean Δ over all triplets of the epoch")
    phi_an_mean: float = Field(description="mean φ_an over all negative pairs")
    phi_ap_mean: float = Field(description="mean φ_ap over all positive pairs")
    active_share: float = Field(description="share of triplets with a non-zero term")
    batches: int = Field(description="batches trained on")
    empty_batches: int = Field(description="batches without an active triplet")
    subjects_seen_share: float = Field(description="share of training subjects in the epoch's batches")
    delta_histogram: Absent[list[int]] = Field(None, description="counts of Δ in bins over [−2, 2], if asked for")
    phi_an_histogram: Absent[list[int]] = Field(None, description="counts of φ_an in bins over [−1, 1], if asked for")
    validation_mAP: Absent[float] = Field(None, description="mAP on the held-out fold; absent if not validated")
    all_pairs_mAP: Absent[float] = Field(
        None, description="mAP of each validation image among all others, if it selects"
    )
    learning_rate: Absent[float] = Field(None, description="of its first step, if it changes during training")
    own: Absent[dict[str, float]] = Field(None, description="other numbers of a user's own trainer, by name")
    seconds: float = Field(description="from its start to its end, with validation")

    def number(self, name: str) -> float:
        """Return the number in the field of that name; NaN where it is absent."""
        value = getattr(self, name)
        return math.nan if value is None else float(value)


class Metrics(DocumentPart):
    """Metric name → value, on the held-out fold or on the test set; null if not evaluated.

    Names are those of `fmim_core.metric_names`, alone or by time after baseline (`mAP/year_4`), and besides
    `chance_mAP`, `queries`, `queries_without_match` and `gallery`.
    """

    validation: MetricValues | None = Field(None, description="metrics on the held-out fold")
    test: MetricValues | None = Field(None, description="metrics on the test set")

    @field_validator("validation", "test")
    @classmethod
    def _names_are_well_formed(cls, values: MetricValues | None) -> MetricValues | None:
        for name in values or {}:
            split_key(name)
        return values


class Member(DocumentPart):
    """One model of a fold ensemble."""

    fold: int = Field(description="the fold that it was validated on")
    seed: int = Field(description="seed of its training")
    kept_epoch: int = Field(description="the epoch whose model was kept")
    validation: MetricValues | None = Field(description="metrics of the kept model on its fold; null at the start")
    history: tuple[EpochRow, ...] = Field(description="one row per epoch")


class Stopped(DocumentPart):
    """A trial's stop by its search, and its measurements until then; they are not a result."""

    after_epoch: int = Field(description="the last epoch that was trained")
    kept_epoch: int = Field(description="the epoch whose model was validated")
    validation: MetricValues | None = Field(description="metrics of that model on the held-out fold")


THIS_STUDY = "this study"
"""The name of the study's own folder in reports that also name other folders."""


class ReusedFrom(DocumentPart):
    """The trial whose record this one reuses, since both trainings are the same.

    Measurements, cost and times are those of that trial; both have the same fingerprint.
    """

    folder: str | None = Field(
        description="the folder of the study that ran it, from the folder of all studies; null if it was this study"
    )
    study: Name = Field(description="that study's name")
    trial: DottedName = Field(description="its name there")
    sha256: str = Field(description="SHA-256 in its record there")
    taken_over_at: Time = Field(description="when this study reused it, ISO 8601")

    @property
    def where(self) -> str:
        """The folder of the study that ran it, or `this study`."""
        return THIS_STUDY if self.folder is None else self.folder
