"""The cost of a trial, with the attempts at it that failed."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from fmim_core.records.document import DocumentPart, Time

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
