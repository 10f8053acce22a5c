"""progress.json: which trials run now, written by the process that runs them for those who ask how far it is."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from fmim_core.records.document import Document, DocumentPart, DottedName, Time
from fmim_core.records.record import Stage


class RunningTrial(DocumentPart):
    """A trial that is not over."""

    trial: DottedName = Field(description="its name, as its record will have it")
    arm: DottedName = Field(description="the arm's name; in the reference stage the reference's")
    stage: Stage = Field(description="what the trial is for")
    started_at: Time = Field(description="when it began, ISO 8601; or went on, where it was interrupted")
    epochs: int = Field(description="epochs that it trains")
    epoch: int = Field(0, description="the last epoch that is over; 0 before the first")
    epoch_s: float | None = Field(None, description="seconds of that epoch, validation included; null before the first")
    best: float | None = Field(None, description="its best validation mAP so far; null where nothing was validated")


class TrialLengths(DocumentPart):
    """About how long trials are, in multiply-adds; comparable within one study alone."""

    search: float = Field(description="of its search, on the average fold")
    replicate: float = Field(description="of a fresh seed")


class TrialCounts(DocumentPart):
    """The numbers of trials of an arm, or of a reference."""

    search: int = Field(description="of its search")
    replicate: int = Field(description="of fresh seeds")


class ProgressFile(Document):
    """progress.json: it is no result, and is written again every few seconds while a study runs."""

    at: Time = Field(description="when it was written, ISO 8601")
    command: str | None = Field(None, description="the command that goes on with the study; null where Python ran it")
    running: list[RunningTrial] = Field(description="in the order in which they began")
    lengths: dict[str, TrialLengths] = Field(description="by the arm's name")
    reused: dict[str, TrialCounts] = Field(
        description="those that have taken, or will take, the record of an equal one, by the arm's or reference's name"
    )


def progress_path(out: Path) -> Path:
    """Return its place in a study's folder."""
    return out / "progress.json"
