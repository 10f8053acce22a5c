"""Selection: each arm's best configuration by its mean validation metric over folds, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fmim_core.metric_names import METRICS, Metric
from fmim_core.records import Record, Score, Selection, Stage, Status
from fmim_spaces.domain import Configuration


@dataclass(frozen=True, slots=True)
class Outcome:
    """The part that is kept of a record once its trial is over; ten thousand whole ones, an epoch a row, would be a GB.

    validation: metric → value on the held-out fold. by_epoch: validation mAP, which a stopping rule goes by.
    startup_s, wall_s, epochs: what it cost. reused: whether an equal trial ran instead.
    """

    arm: str
    stage: Stage
    search_split: int
    fold: int | None
    status: Status
    validation: Mapping[str, float] | None
    by_epoch: Sequence[float] = ()
    startup_s: float = 0.0
    wall_s: float = 0.0
    epochs: int = 0
    reused: bool = False

    @classmethod
    def of(cls, record: Record) -> Outcome:
        """Return that of a record."""
        return cls(
            **{name: getattr(record, name) for name in ("arm", "stage", "search_split", "fold", "status")},
            validation=record.metrics.validation,
            by_epoch=tuple(row.number("validation_mAP") for row in record.history),
            startup_s=record.cost.startup_s,
            wall_s=record.cost.wall_s,
            epochs=record.cost.epochs,
            reused=record.reused_from is not None,
        )

    @property
    def final(self) -> bool:
        """As `Record.final`."""
        return self.status != "failed"


def upwards(value: float, metric: Metric) -> float:
    """Return the value, or its negative where lower is better: of two, the better one is higher."""
    return value if metric.higher_is_better else -value


def better(best: float | None, value: float | None, metric: Metric) -> float | None:
    """Return the better one of the best so far and a value; not-a-number never is."""
    if value is None or value != value:
        return best
    return value if best is None or upwards(value, metric) > upwards(best, metric) else best


def select(
    configurations: Sequence[Configuration], folds: int, outcomes: Sequence[Sequence[Outcome]], metric: str
) -> Selection:
    """Select the best configuration of an arm by its search trials' outcomes; among equals, the one declared first.

    A configuration that did not complete every fold is not compared on fewer: it is left out and says so.
    """
    scores = tuple(
        score_of(number, configuration, folds, of_it, metric)
        for number, (configuration, of_it) in enumerate(zip(configurations, outcomes, strict=True))
    )
    means = {one.number: upwards(one.mean, METRICS[metric]) for one in scores if one.mean is not None}
    if not means:
        return Selection(number=None, configuration=None, score=None, metric=metric, scores=scores)
    best = scores[max(means, key=means.__getitem__)]  # the first of equals
    return Selection(
        number=best.number, configuration=best.configuration, score=best.mean, metric=metric, scores=scores
    )


def given(configuration: Configuration, metric: str) -> Selection:
    """Return the selection of an arm that has nothing to search."""
    return Selection(number=0, configuration=configuration, score=None, metric=metric, scores=())


def score_of(number: int, configuration: Configuration, folds: int, outcomes: Sequence[Outcome], metric: str) -> Score:
    """Return a configuration's mean over its folds; none unless every fold is completed and finite."""
    values = [one.validation[metric] for one in outcomes if one.status == "completed" and one.validation is not None]
    finite = [value for value in values if value == value]
    bad = [f"{one.status} (fold {one.fold})" for one in outcomes if one.status != "completed"]
    bad += [f"{len(values) - len(finite)} undefined"] if len(finite) < len(values) else []
    complete = len(finite) == folds
    reason = f"{len(finite)} of {folds} folds" + (f": {', '.join(bad)}" if bad else "")
    return Score(
        number=number,
        configuration=configuration,
        mean=fmean(finite) if complete else None,
        n=len(finite),
        of=folds,
        excluded=None if complete else reason,
    )
