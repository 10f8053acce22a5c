"""Warnings about the data, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable

from fmim_core.data.source import SourceDescription
from fmim_core.metric_names import Interval
from fmim_core.records import FoldEntry


def data_warnings(description: SourceDescription) -> list[str]:
    """Say what the data set's tables were warned of."""
    return [
        f"{finding['what']} ({finding['count']}; fmim data check names them)"
        for finding in description.details.get("findings", ())
        if finding["severity"] == "warning"
    ]


def fold_warnings(folds: Iterable[FoldEntry], interval: Interval) -> list[str]:
    """Name the times after baseline, in the data set's interval, that a fold cannot score though other folds can."""
    said = []
    for fold in folds:
        if missing := fold.validation_times_missing:
            times = f"{interval.plural if len(missing) > 1 else interval.unit} {', '.join(map(str, missing))}"
            said.append(f"fold {fold.fold} has no validation query of {times}")
    return said
