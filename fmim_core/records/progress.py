"""Documents about a study that are not results: its progress, a prediction of its length, a summary of its report."""

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
    """A running trial."""

    trial: DottedName = Field(description="its name, as its record will have it")
    arm: DottedName = Field(description="the arm's name; in the reference stage the reference's")
    stage: Stage = Field(description="what the trial is for")
    started_at: Time = Field(description="when it started or, after an interruption, resumed, ISO 8601")
    epochs: int = Field(description="epochs to train")
    epoch: int = Field(0, description="the last finished epoch; 0 before the first")
    epoch_s: float | None = Field(None, description="seconds of that epoch, with validation; null before the first")
    best: float | None = Field(None, description="its best validation mAP so far; null before a validation")


class TrialLengths(DocumentPart):
    """Estimated lengths of trials, in multiply-adds; comparable only within one study."""

    search: float = Field(description="a search trial, on the average fold")
    variation: float = Field(0.0, description="its selected configuration with a setting changed, on average")
    replicate: float = Field(description="a fresh seed")


class TrialCounts(DocumentPart):
    """The numbers of trials of an arm, or of a reference."""

    search: int = Field(description="search trials")
    variation: int = Field(0, description="trials of its selected configuration with a setting changed")
    replicate: int = Field(description="trials of fresh seeds")


class ProgressFile(Document):
    """progress.json: not a result; it is rewritten every few seconds while a study runs."""

    at: Time = Field(description="when it was written, ISO 8601")
    command: str | None = Field(None, description="the command that resumes the study; null if it was run from Python")
    running: list[RunningTrial] = Field(description="running trials, in the order of their start")
    lengths: dict[str, TrialLengths] = Field(description="lengths of trials, by the arm's name")
    reused: dict[str, TrialCounts] = Field(
        description="trials that have reused or will reuse the record of an equal one, by arm or reference"
    )


def progress_path(out: Path) -> Path:
    """Return its place in a study's folder."""
    return out / "progress.json"


class ForecastEntry(DocumentPart):
    """A prediction of a whole plan."""

    trials: int = Field(description="trials to train")
    reused: int = Field(description="further trials that reuse the record of an equal one")
    epochs: int = Field(description="epochs of all trials to train")
    images: int = Field(description="training images of all trials to train")
    wall_s: float = Field(description="seconds from the start of the program's work to the end of the last trial")
    device_seconds: float = Field(description="seconds × the share of the device, of all trials to train")
    peak_memory: float = Field(description="bytes of the trial that needs the most")


class CalibrationFile(Document):
    """calibration.json: a prediction and its basis; a report compares it with a run of the same plan."""

    made_at: str = Field(description="when it was made, ISO 8601")
    study: Name = Field(description="the study's name")
    preset: Name = Field(description="the preset's name")
    seed: int = Field(description="the study's seed")
    replicates: int = Field(description="fresh seeds of all arms")
    search_splits: int = Field(description="splits into folds on which the search is run")
    epochs: int = Field(description="epochs of one training")
    data_fingerprint: str = Field(description="fingerprint of the bank's decoded content")
    backend: str = Field(description="the backend that would run the trials")
    device: str = Field(description="the GPU's name, or cpu")
    slots: int = Field(description="number of parallel trials")
    device_share: float = Field(description="share of a GPU, or number of CPU cores, per trial")
    forecast: ForecastEntry = Field(description="the prediction")
    preparation_s: float = Field(description="seconds from the start of the program to the start of the runner")
    calibration: dict[str, Any] = Field(description="the measured times")


def calibration_path(out: Path) -> Path:
    """Return the place of a study's prediction in its folder."""
    return out / "calibration.json"


class ReportSummary(Document):
    """report/summary.json: the report's main sentences and counts, written whenever the report is built."""

    study_id: str = Field(description="the id of the study in study.json")
    executions: int = Field(description="starts of the study before it was written; a later start makes it outdated")
    sentences: list[str] = Field(description="the results: one sentence per comparison, or per arm without comparisons")
    warnings: list[str] = Field(description="deviations from the plan; empty for a complete run")
    trials: dict[str, int] = Field(description="planned trials by status; `missing` have no record")
    device_seconds: float = Field(description="seconds × the share of the device, of all trials and failed attempts")

    @property
    def planned(self) -> int:
        """The trials that there are to be."""
        return sum(self.trials.values())


def summary_path(out: Path) -> Path:
    """Return the place of the summary of a study's report in the study's folder."""
    return out / "report" / "summary.json"
