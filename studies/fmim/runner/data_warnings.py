"""Warnings about the data, before anything starts."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from fmim_core.data.source import SourceDescription
from fmim_core.records import FoldEntry


def warn_of_folds(folds: list[FoldEntry], console: Console) -> None:
    """Name the years after baseline that a fold cannot score, though other folds can."""
    for fold in folds:
        if missing := fold.validation_years_missing:
            years = f"year{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"
            console.print(f"[yellow]fold {fold.fold} has no validation query of {years}[/]", highlight=False)


def warn_of_data(description: SourceDescription, console: Console) -> None:
    """Print what the data set's tables were warned of."""
    for finding in description.details.get("findings", ()):
        if finding["severity"] == "warning":
            text = f"{finding['what']} ({finding['count']}; fmim data check names them)"
            console.print(f"[yellow]{escape(text)}[/]", highlight=False, soft_wrap=True)
