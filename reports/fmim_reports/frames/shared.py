"""The columns that several frames have: which trial a row is of, and the values of its configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fmim_core.records import ArmEntry
from fmim_reports.frames.frame import FrameColumn, dtype_of
from fmim_reports.reading.results import PlannedTrial
from fmim_reports.writing.formats import SYMBOLS, UNITS

CONFIGURATION = "configuration_"

OF_TRIAL = (
    FrameColumn("trial", "string", "the trial's name, by which frames can be joined; unique in the study"),
    FrameColumn("arm", "string", "the arm's name; in the stage `reference` the reference's"),
    FrameColumn("stage", "string", "search (on validation), replicate or reference (both on the test set)"),
    FrameColumn("replicate", "int64", "the fold in the stage `search`, the number of the seed in the others"),
    FrameColumn("search_split", "int64", "the split into folds that its search is on; 0 is the study's own"),
    FrameColumn("status", "string", "completed, stopped (by its search), diverged, failed, or missing (no record)"),
)


def of_trial(trial: PlannedTrial) -> dict[str, Any]:
    """The values of `OF_TRIAL`."""
    return {column.name: getattr(trial, column.name) for column in OF_TRIAL if column.name != "trial"} | {
        "trial": trial.name
    }


def tested(trials: Iterable[PlannedTrial]) -> list[PlannedTrial]:
    """Those of the stages that measure on the test set."""
    return [trial for trial in trials if trial.stage != "search"]


def configuration_columns(arms: Iterable[ArmEntry]) -> list[FrameColumn]:
    """One column per hyperparameter that one of these arms varies, by the order of the arms."""
    found: dict[str, list[Any]] = {}
    for name, value in (pair for arm in arms for pair in _values(arm)):
        found.setdefault(name, []).append(value)
    return [
        FrameColumn(f"{CONFIGURATION}{name}", dtype_of(values), _meaning(name), UNITS.get(name, ""))
        for name, values in found.items()
    ]


def of_configuration(configuration: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values of `configuration_columns`; NA where nothing sets one."""
    return {f"{CONFIGURATION}{name}": value for name, value in (configuration or {}).items()}


def _values(arm: ArmEntry) -> Iterator[tuple[str, Any]]:
    """The values that a hyperparameter may take or has taken, the ends of a range as numbers that need not be whole."""
    for name, space in arm.space.items():
        values = [float(space["low"]), float(space["high"])] if isinstance(space, Mapping) else space
        yield from ((name, value) for value in values)
    for configuration in arm.configurations:
        yield from configuration.items()


def _meaning(name: str) -> str:
    symbol = f" ({SYMBOLS[name]})" if name in SYMBOLS else ""
    return f"the configuration's {name}{symbol}; NA where the arm does not vary it"
