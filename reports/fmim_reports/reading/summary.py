"""The numbers of each arm, computed once: tables, figures and sentences all read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from fmim_core.records import EpochRow, ReferenceEntry
from fmim_reports.reading.cost import TotalCost, search_cost
from fmim_reports.reading.results import PlannedTrial, Results, once
from fmim_reports.stats import MeanSE, mean_se

Key = TypeVar("Key")
COLLAPSED = 1e-3  # mean Δ, of less matches are no closer than other images


@dataclass(frozen=True)
class Estimate:
    """Replicate → value of those that completed, of `of` planned; `unit` says what a replicate is."""

    values: Mapping[Any, float]
    of: int
    unit: str  # fold, seed or configuration

    @cached_property
    def stat(self) -> MeanSE:
        """Their mean ± SE."""
        return mean_se(self.values)

    @property
    def complete(self) -> bool:
        return self.stat.n == self.of

    @property
    def n_text(self) -> str:
        """`5` when all replicates completed, `4 of 5` otherwise."""
        return f"{self.stat.n}" if self.complete else f"{self.stat.n} of {self.of}"


@dataclass(frozen=True)
class ArmSummary:
    """An arm's selected configuration, what its search cost, and the study's primary metric on validation and test.

    Args:
        name: tells it from the others. label, loss, group, search: for display alone (`group` is what it shares with
            the arms beside it, its loss unless the study says otherwise; `search` is how its values are set).
        collapsed: the number of its test replicates whose embeddings have collapsed.
    """

    name: str
    label: str
    loss: str
    group: str
    search: str
    planned_n_s: int
    configuration: Mapping[str, Any] | None
    cost: TotalCost
    validation: Estimate
    test: Estimate
    collapsed: int = 0

    @property
    def short_label(self) -> str:
        """Its name among the arms of its group: how its values are set, or its label where there is no such word."""
        return self.search or self.label

    @property
    def search_is_over(self) -> bool:
        """True if its search has started every configuration and selected one (a failed trial has its cost, too)."""
        return self.configuration is not None and self.cost.n_s == self.planned_n_s


def completed(trials: list[PlannedTrial], metric: str, time: int | None = None) -> dict[int, float]:
    """Return replicate → metric of the completed trials."""
    return {t.replicate: t.metric(metric, time) for t in trials if t.status == "completed"}


def estimate_of(trials: list[PlannedTrial], metric: str, of: int, unit: str, time: int | None = None) -> Estimate:
    """Return mean ± SE of a metric over the completed ones of these trials."""
    return Estimate(completed(trials, metric, time), of, unit)


def on_validation(results: Results, arm: str, configuration: Mapping[str, Any] | None, metric: str) -> Estimate:
    """Return a configuration's metric over the folds; no values without a configuration."""
    trials = [] if configuration is None else results.of(arm, "search", configuration)
    return estimate_of(trials, metric, len(results.study.folds), "fold")


def on_test(results: Results, arm: str, metric: str, time: int | None = None) -> Estimate:
    """Return the selected configuration's test metric over the seeds, at one time after baseline if given."""
    return estimate_of(results.of(arm, "replicate"), metric, results.arm(arm).replicates, "seed", time)


def on_reference(results: Results, reference: ReferenceEntry, metric: str, time: int | None = None) -> Estimate:
    """Return a reference's test metric over its seeds, at one time after baseline if given; one value has no SE."""
    return estimate_of(results.of(reference.name, "reference"), metric, reference.replicates, "seed", time)


def from_time(trial: PlannedTrial, metric: str, least: int) -> float | None:
    """Return the metric over a trial's queries at least so many intervals after baseline, each counting once.

    Σ_t n_t m_t / Σ_t n_t with n_t queries and a mean m_t at time t, which is exact; None without such queries.
    """
    times = [time for time in trial.times if time >= least and trial.metric("queries", time) != 0]
    sizes = [trial.metric("queries", time) for time in times]
    values = [trial.metric(metric, time) for time in times]
    return float(np.average(values, weights=sizes)) if times else None


def estimate_from_time(trials: list[PlannedTrial], metric: str, least: int, of: int, unit: str) -> Estimate:
    """Return mean ± SE of `from_time` over the completed trials that have such queries."""
    found = {t.replicate: from_time(t, metric, least) for t in trials if t.status == "completed"}
    return Estimate({key: value for key, value in found.items() if value is not None}, of, unit)


def best_of(found: Mapping[Key, Estimate]) -> Key | None:
    """Return the name of the highest mean, of those that completed every replicate; None where there is none."""
    means = {name: value.stat.mean for name, value in found.items() if value.complete}
    known = {name: mean for name, mean in means.items() if not math.isnan(mean)}
    return max(known, key=known.__getitem__, default=None)


def pooled_over_queries(results: Results, arm: str, configuration: Mapping[str, Any]) -> float:
    """Return the primary metric on validation in which each query counts once, to set beside the mean of folds."""
    trials = [t for t in results.of(arm, "search", configuration) if t.status == "completed"]
    sizes = [t.metric("queries") for t in trials]
    if not trials or any(not size > 0 for size in sizes):
        return math.nan
    return float(np.average([t.metric(results.metric.name) for t in trials], weights=sizes))


@once
def arm_summaries(results: Results) -> tuple[ArmSummary, ...]:
    """Return a summary per arm, in plan order."""
    metric = results.metric.name
    return tuple(
        ArmSummary(
            name=arm.name,
            label=arm.label,
            loss=arm.loss,
            group=arm.group,
            search=arm.search,
            planned_n_s=arm.n_s,
            configuration=results.selected(arm.name),
            cost=search_cost(results, arm.name),
            validation=on_validation(results, arm.name, results.selected(arm.name), metric),
            test=on_test(results, arm.name, metric),
            collapsed=sum(has_collapsed(results, trial) for trial in results.of(arm.name, "replicate")),
        )
        for arm in results.arms
    )


def has_collapsed(results: Results, trial: PlannedTrial) -> bool:
    """Say if a test replicate tells nobody apart: worse than a random ranking, and mean Δ ended at 0 in training."""
    if trial.status != "completed" or trial.record is None or not trial.record.history:
        return False
    value, chance = trial.metric(results.metric.name), trial.metric(chance_name(results))
    worse = value < chance if results.metric.higher_is_better else value > chance
    return worse and abs(trial.record.history[-1].delta_mean) < COLLAPSED


def over_configurations(results: Results, arm: str, metric: str) -> Estimate:
    """Return mean ± SE of a validation metric over the configurations of an arm that completed every fold."""
    configurations = results.arm(arm).configurations
    found = [on_validation(results, arm, configuration, metric) for configuration in configurations]
    values = {i: e.stat.mean for i, e in enumerate(found) if e.complete}
    return Estimate(values, len(configurations), "configuration")


def test_fact(results: Results, name: str) -> float | None:
    """Return a number that all records of the test set share, as `queries` or `gallery`; None where they do not."""
    seen = {round(t.metric(name), 12) for t in results.tested}
    value = seen.pop() if len(seen) == 1 else math.nan
    return None if math.isnan(value) else value


def chance_name(results: Results) -> str:
    """Return the records' name of the primary metric of a random ranking; those of metrics without one lack it."""
    return f"chance_{results.metric.name}"


def query_times(results: Results) -> list[int]:
    """Return the times after baseline that any test record has queries of."""
    return sorted({time for trial in results.tested for time in trial.times})


def queries_at(results: Results, time: int | None) -> float:
    """Return the test queries of a time (None: of all); not-a-number without a record or where records disagree."""
    counts = {t.metric("queries", time) for t in results.tested}
    return counts.pop() if len(counts) == 1 else math.nan


def selection_problems(results: Results) -> list[str]:
    """Name the arms whose recorded selection score is not the mean of all their records: one of the two is stale."""
    found = []
    for arm in results.arms:
        chosen = results.selection.arms.get(arm.name)
        if chosen is None or chosen.score is None:
            continue
        ours = on_validation(results, arm.name, chosen.configuration, chosen.metric)
        if ours.complete and not math.isclose(chosen.score, ours.stat.mean, abs_tol=1e-9):
            given = f"but its records now give {ours.stat.mean:.6f}"
            found.append(f"{arm.label}: selected with a score of {chosen.score:.6f}, {given}")
    return found


History = Mapping[int, EpochRow]  # by epoch
Histories = Mapping[int, History]  # seed → history


def histories(results: Results, arm: str) -> Histories:
    """Return seed → epoch → row, of the arm's completed replicates."""
    return {
        trial.replicate: {row.epoch: row for row in trial.record.history}
        for trial in results.of(arm, "replicate")
        if trial.status == "completed" and trial.record and trial.record.history
    }


def histories_by_arm(results: Results) -> dict[str, Histories]:
    """Return the histories of every arm that has one, in plan order."""
    return {arm.name: found for arm in results.arms if (found := histories(results, arm.name))}


def epochs_of(found: Histories) -> list[int]:
    """Return the epochs that any seed trained, in order."""
    return sorted({epoch for history in found.values() for epoch in history})


def at(found: Histories, name: str, epoch: int) -> MeanSE:
    """Return mean ± SE over seeds of one number of an epoch; a seed that lacks it makes it not-a-number."""
    return mean_se(values_at(found, name, epoch))


def values_at(found: Histories, name: str, epoch: int) -> dict[int, float]:
    """Return seed → one number of an epoch, of the seeds that trained it; not-a-number where a seed lacks it."""
    return {seed: history[epoch].number(name) for seed, history in found.items() if epoch in history}


def milestones(epochs: Iterable[int], most: int = 5) -> list[int]:
    """Return at most `most` of the epochs, the first and the last among them, evenly apart."""
    listed = sorted(epochs)
    places = np.linspace(0, len(listed) - 1, min(most, len(listed))).round().astype(int)
    return [listed[place] for place in places]


def density(found: Histories, name: str, epoch: int, low: float, high: float) -> np.ndarray | None:
    """Return the histogram `name` of an epoch, added over seeds, as a density on [low, high] that integrates to 1.

    None where no seed counted anything.
    """
    counts = [getattr(history[epoch], name) for history in found.values() if epoch in history]
    total = np.sum([np.asarray(c, dtype=float) for c in counts if c], axis=0)
    if not np.any(total > 0):
        return None
    return total / (total.sum() * (high - low) / len(total))
