"""Warnings about the data, before anything starts."""

from __future__ import annotations

from rich.console import Console

from fmim_core.data.source import SourceDescription
from fmim_core.metric_names import Interval
from fmim_core.records import FoldEntry, in_terminal


def warn_of_folds(folds: list[FoldEntry], interval: Interval, console: Console) -> None:
    """Name the times after baseline, in the data set's interval, that a fold cannot score though other folds can."""
    for fold in folds:
        if missing := fold.validation_times_missing:
            times = f"{interval.plural if len(missing) > 1 else interval.unit} {', '.join(map(str, missing))}"
            console.print(f"[yellow]fold {fold.fold} has no validation query of {times}[/]", highlight=False)


def warn_of_data(description: SourceDescription, console: Console) -> None:
    """Print what the data set's tables were warned of."""
    for finding in description.details.get("findings", ()):
        if finding["severity"] == "warning":
            text = f"{finding['what']} ({finding['count']}; fmim data check names them)"
            console.print(f"[yellow]{in_terminal(text)}[/]", highlight=False, soft_wrap=True)
