"""The parts of a record: what was measured, what it cost, and where it was taken from."""

from __future__ import annotations

import math
from typing import Annotated, Literal, TypeVar

from pydantic import Field, field_validator

from fmim_core.metric_names import split_key
from fmim_core.records.document import DocumentPart, DottedName, Name, Time

Stage = Literal["search", "variation", "replicate", "reference"]
"""What a trial is for: `search` selects a configuration; `variation` trains the selected one with one setting changed,
to see if a comparison's answer depends on it; `replicate` tests it; `reference` tests what no training made."""

ON_FOLDS: tuple[Stage, ...] = ("search", "variation")
"""Stages whose trials hold out a fold, measure on it, and never read the test set."""
OF_WINNER: tuple[Stage, ...] = ("variation", "replicate")
"""Stages that train a configuration only once it is selected."""

TestProtocol = Literal["retrained", "fold_ensemble"]
"""What a replicate tests: one model `retrained` on all development subjects; or one model a fold, each validated on the
fold that it was not trained on, whose distances are averaged."""

MetricValues = dict[str, float]

Status = Literal["completed", "stopped", "diverged", "failed"]


class Cost(DocumentPart):
    """The cost of a trial, or of an attempt at it.

    `wall_s` has the waiting between epochs in it, which the parts do not have. `resumed` counts interruptions after
    which the trial was resumed from a checkpoint: the seconds between the two are in no record, since nobody was left
    to write them down.
    """

    startup_s: float = Field(0.0, description="seconds from nothing to the first epoch, compiling included")
    data_s: float = Field(0.0, description="seconds of drawing batches and waiting for their images")
    train_s: float = Field(0.0, description="seconds of training steps, augmentation included")
    eval_s: float = Field(0.0, description="seconds of embedding and scoring")
    lost_s: float = Field(0.0, description="seconds of a worker that died, nobody knows on what")
    wall_s: float = Field(0.0, description="seconds from beginning to end")
    energy_j: float | None = Field(None, description="joules × the share of the GPU; null where nothing tells it")
    device: str = Field("none", description="the GPU's name, or cpu")
    device_share: float = Field(0.0, description="of a GPU, or of one CPU core (2.0 for two)")
    epochs: int = Field(0, description="epochs trained")
    images: int = Field(0, description="training images shown, repeats counted")
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

    kind: str | None = Field(None, description="the error's class, or `out of memory`, or `worker died`")
    message: str | None = Field(None, description="what the error says")
    traceback: str | None = Field(None, description="where it was raised")


class Attempt(DocumentPart):
    """An attempt at a trial that failed and was run again; less what a later one resumed from (a checkpoint)."""

    status: Status = Field(description="how it ended")
    cost: Cost = Field(description="what it cost")
    error: TrialError = Field(description="what ended it")
    started_at: Time = Field(description="when it began, ISO 8601")
    ended_at: Time = Field(description="when it ended, ISO 8601")


class SoFar(DocumentPart):
    """The part of a trial's record that is known before it is over: when it began, and its cost."""

    started_at: str
    cost: Cost
    attempts: tuple[Attempt, ...] = ()


_T = TypeVar("_T")
Absent = Annotated[_T | None, Field(exclude_if=lambda value: value is None)]
"""What is left out of the file where there is none."""


class EpochRow(DocumentPart):
    """One epoch of a training. Margins are those in force in it; not-a-number where the loss has none."""

    epoch: int = Field(description="from 1")
    loss: float = Field(description="mean over batches")
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
    validation_mAP: Absent[float] = Field(None, description="absent where the epoch was not validated")
    all_pairs_mAP: Absent[float] = Field(None, description="of each validation image among all others, if kept by it")
    learning_rate: Absent[float] = Field(None, description="in its first step, if it changes during the training")
    own: Absent[dict[str, float]] = Field(None, description="other numbers of a user's own trainer, by name")
    seconds: float = Field(description="from its beginning to its end, validation included")

    def number(self, name: str) -> float:
        """Return the number in the field of that name; NaN where it is absent."""
        value = getattr(self, name)
        return math.nan if value is None else float(value)


class Metrics(DocumentPart):
    """Metric name → value, of the held-out fold or of the test set; null where that was not evaluated.

    Names are those of `fmim_core.metric_names`, alone or by time after baseline (`mAP/year_4`), and besides
    `chance_mAP`, `queries`, `queries_without_match` and `gallery`.
    """

    validation: MetricValues | None = Field(None, description="on the held-out fold")
    test: MetricValues | None = Field(None, description="on the test set")

    @field_validator("validation", "test")
    @classmethod
    def _names_are_well_formed(cls, values: MetricValues | None) -> MetricValues | None:
        for name in values or {}:
            split_key(name)
        return values


class Member(DocumentPart):
    """One model of a fold ensemble."""

    fold: int = Field(description="held out of its training, and its validation set")
    seed: int = Field(description="of its training")
    kept_epoch: int = Field(description="the epoch whose model was kept")
    validation: MetricValues | None = Field(description="of the kept model on its fold; null before the first epoch")
    history: tuple[EpochRow, ...] = Field(description="one row an epoch")


class Stopped(DocumentPart):
    """A trial's stop by its search, and what was measured by then: no result."""

    after_epoch: int = Field(description="the last epoch that was trained")
    kept_epoch: int = Field(description="the epoch whose model was validated")
    validation: MetricValues | None = Field(description="of that model on the held-out fold")


THIS_STUDY = "this study"
"""What reports call the study's own folder where it stands beside those of others."""


class ReusedFrom(DocumentPart):
    """The trial whose record was taken over, since this one's training would have been the same.

    All that was measured, what it cost and when it ran are that trial's; the fingerprint is the same for both.
    """

    folder: str | None = Field(
        description="the folder of the study that ran it, from the folder of all studies; null if it was this study"
    )
    study: Name = Field(description="that study's name")
    trial: DottedName = Field(description="its name there")
    sha256: str = Field(description="SHA-256 in its record there")
    taken_over_at: Time = Field(description="when this study took it over, ISO 8601")

    @property
    def where(self) -> str:
        """The folder of the study that ran it, or `this study`."""
        return THIS_STUDY if self.folder is None else self.folder
