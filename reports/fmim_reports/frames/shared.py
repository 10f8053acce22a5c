"""The columns that several frames have: which trial a row is of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fmim_reports.reading.results import PlannedTrial
from fmim_reports.writing.data_columns import DataColumn

OF_TRIAL = (
    DataColumn("trial", "string", "the trial's name, by which frames can be joined; unique in the study"),
    DataColumn("arm", "string", "the arm's name; in the stage `reference` the reference's"),
    DataColumn("stage", "string", "search (on validation), replicate or reference (both on the test set)"),
    DataColumn("replicate", "int64", "the fold in the stage `search`, the number of the seed in the others"),
    DataColumn("search_split", "int64", "the split into folds that its search is on; 0 is the study's own"),
    DataColumn("status", "string", "completed, stopped (by its search), diverged, failed, or missing (no record)"),
)


def of_trial(trial: PlannedTrial) -> dict[str, Any]:
    """The values of `OF_TRIAL`."""
    return {column.name: getattr(trial, column.name) for column in OF_TRIAL if column.name != "trial"} | {
        "trial": trial.name
    }


def tested(trials: Iterable[PlannedTrial]) -> list[PlannedTrial]:
    """Those of the stages that measure on the test set."""
    return [trial for trial in trials if trial.stage != "search"]
