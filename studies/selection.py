"""Selection: each arm's best configuration by its mean validation metric over folds, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from fmim_core.metric_names import METRICS, Metric
from fmim_core.records import Record
from search_spaces.domain import Configuration


@dataclass(frozen=True)
class Score:
    """A configuration's mean validation metric; `excluded` says why it could not be selected."""

    number: int
    configuration: Configuration
    mean: float | None
    n: int
    of: int
    excluded: str | None


@dataclass(frozen=True)
class Selection:
    """An arm's winner (number and configuration; None if no configuration finished all its folds) and all scores."""

    number: int | None
    configuration: Configuration | None
    score: float | None
    metric: str
    scores: tuple[Score, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values, for selection.json."""
        return asdict(self)


def summary_of(record: Record) -> Record:
    """What is read of a record once its trial is over; ten thousand whole ones, an epoch a row, would be a GB."""
    return {name: record[name] for name in ("arm", "fold", "status", "metrics")}


def upwards(value: float, metric: Metric) -> float:
    """The value, or its negative where lower is better: of two, the better one is higher."""
    return value if metric.higher_is_better else -value


def select(
    configurations: Sequence[Configuration], folds: int, records: Sequence[Sequence[Record]], metric: str
) -> Selection:
    """The best configuration of an arm from the search records of each; among equals, the one declared first.

    A configuration that did not complete every fold is not compared on fewer: it is left out and says so.
    """
    scores = tuple(
        score(number, configuration, folds, of_it, metric)
        for number, (configuration, of_it) in enumerate(zip(configurations, records, strict=True))
    )
    eligible = [one for one in scores if one.mean is not None]
    if not eligible:
        return Selection(None, None, None, metric, scores)
    best = max(eligible, key=lambda one: (upwards(one.mean, METRICS[metric]), -one.number))  # type: ignore[arg-type]
    return Selection(best.number, best.configuration, best.mean, metric, scores)


def given(configuration: Configuration, metric: str) -> Selection:
    """The selection of an arm that has nothing to search."""
    return Selection(0, configuration, None, metric, ())


def score(number: int, configuration: Configuration, folds: int, records: Sequence[Record], metric: str) -> Score:
    """A configuration's mean over its folds, from its records; none unless every fold is completed and finite."""
    values = [r["metrics"]["validation"][metric] for r in records if r["status"] == "completed"]
    finite = [value for value in values if value == value]
    if len(finite) == folds:
        return Score(number, configuration, fmean(finite), folds, folds, None)
    bad = [f"{r['status']} (fold {r['fold']})" for r in records if r["status"] != "completed"]
    bad += [f"{len(values) - len(finite)} undefined"] if len(finite) < len(values) else []
    reason = f"{len(finite)} of {folds} folds" + (f": {', '.join(bad)}" if bad else "")
    return Score(number, configuration, None, len(finite), folds, reason)
