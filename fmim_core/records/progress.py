"""Documents about a study that are no result: its progress, a prediction of its length, its report in a few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from fmim_core.records.document import Document, DocumentPart, DottedName, Name, Time
from fmim_core.records.parts import Stage

# Exit codes of the program
DONE = 0
SOME_FAILED = 1  # some trials, or the disk; the report is built all the same, and says so
BAD_INPUT = 2  # bad usage or input: nothing has started
INTERRUPTED = 130  # the same command resumes


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
    variation: float = Field(0.0, description="of its selected configuration with a setting changed, on average")
    replicate: float = Field(description="of a fresh seed")


class TrialCounts(DocumentPart):
    """The numbers of trials of an arm, or of a reference."""

    search: int = Field(description="of its search")
    variation: int = Field(0, description="of its selected configuration with a setting changed")
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


class ForecastEntry(DocumentPart):
    """A prediction of a whole plan."""

    trials: int = Field(description="trials there are to train")
    reused: int = Field(description="trials besides that take the record of an equal one")
    epochs: int = Field(description="epochs of all of them")
    images: int = Field(description="training images of all of them")
    wall_s: float = Field(description="from the start of the program's work to the end of the last trial")
    device_seconds: float = Field(description="seconds × the share of the device, of all of them")
    peak_memory: float = Field(description="bytes of the trial that needs most")


class CalibrationFile(Document):
    """calibration.json: a prediction, and what it was made of; a report compares it with a run of the same plan."""

    made_at: str = Field(description="when it was made, ISO 8601")
    study: Name = Field(description="the study's name")
    preset: Name = Field(description="the preset's name")
    seed: int = Field(description="the study's seed")
    replicates: int = Field(description="of all arms")
    search_splits: int = Field(description="splits into folds on which the search is run")
    epochs: int = Field(description="of one training")
    data_fingerprint: str = Field(description="of the bank's decoded content")
    backend: str = Field(description="what would run the trials")
    device: str = Field(description="the GPU's name, or cpu")
    slots: int = Field(description="trials at once")
    device_share: float = Field(description="of a GPU, or of one CPU core, that each trial has")
    forecast: ForecastEntry = Field(description="what was predicted")
    preparation_s: float = Field(description="seconds from the start of the program to the start of the runner")
    calibration: dict[str, Any] = Field(description="what was timed")


def calibration_path(out: Path) -> Path:
    """Return the place of a study's prediction in its folder."""
    return out / "calibration.json"


class ReportSummary(Document):
    """report/summary.json: a report in a few words and counts, written whenever the report is built."""

    study_id: str = Field(description="the id of the study in study.json")
    executions: int = Field(description="starts of the study when it was written; a later one makes it out of date")
    sentences: list[str] = Field(description="what was found, one sentence a comparison, or an arm where there is none")
    warnings: list[str] = Field(description="what is not as planned; none for a complete and clean run")
    trials: dict[str, int] = Field(description="planned trials by their status; `missing` of those without a record")
    device_seconds: float = Field(description="seconds × the share of the device, of all trials and failed attempts")

    @property
    def planned(self) -> int:
        """The trials that there are to be."""
        return sum(self.trials.values())


def summary_path(out: Path) -> Path:
    """Return the place of the summary of a study's report in the study's folder."""
    return out / "report" / "summary.json"
