"""The whole pipelines of an arm: its search on each split, ended by its winner with a fresh seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fmim_core.records import ArmEntry
from fmim_reports.reading.results import Results, key_of
from fmim_reports.reading.summary import completed
from fmim_reports.stats import SelectionVariance, mean_se, selection_variance

Configuration = Mapping[str, Any]


@dataclass(frozen=True)
class Pipelines:
    """An arm's whole pipelines: by search split, the configuration it selected, and that one's test value.

    The winner of split r has fresh seed r. `own` are the test values of the study's winner with all fresh seeds.
    """

    winners: Mapping[int, Configuration]
    values: Mapping[int, float]
    own: Mapping[int, float]

    @property
    def variance(self) -> SelectionVariance:
        """The variance that selection and seed add, over the splits whose pipeline is complete."""
        by_winner: dict[Any, list[float]] = {}
        if 0 in self.winners:
            by_winner[key_of(self.winners[0])] = list(self.own.values())
        for split, value in self.values.items():
            if key_of(self.winners[split]) != key_of(self.winners[0]):
                by_winner.setdefault(key_of(self.winners[split]), []).append(value)
        return selection_variance([key_of(self.winners[split]) for split in self.values], by_winner)

    def same(self, split: int) -> bool:
        """Say whether a split selected what the study's own did."""
        return key_of(self.winners[split]) == key_of(self.winners[0])


def pipelines(results: Results, arm: str) -> Pipelines:
    """Return those of an arm; without its own winner there are none."""
    metric, winners = results.metric.name, dict[int, Configuration]()
    for split in range(results.study.search_splits):
        fixed = results.selection.by_split.get(split, {}).get(arm)
        if fixed is not None and fixed.configuration is not None:
            winners[split] = fixed.configuration
    if 0 not in winners:
        return Pipelines({}, {}, {})
    own = completed(results.of(arm, "replicate"), metric)
    others = {
        trial.search_split: trial.metric(metric)
        for trial in results.other_splits
        if (trial.arm, trial.stage, trial.status) == (arm, "replicate", "completed")
    }
    same = {split: own[split] for split, one in winners.items() if key_of(one) == key_of(winners[0]) and split in own}
    return Pipelines(winners, dict(sorted((same | others).items())), own)


def choosing(results: Results) -> list[ArmEntry]:
    """Return the arms that have more than one configuration to select from."""
    return [arm for arm in results.arms if arm.n_s > 1]


def scores_by_split(results: Results, arm: str) -> dict[Any, dict[int, float]]:
    """Return configuration → search split → mean validation metric over folds, where every fold is completed."""
    found: dict[Any, dict[int, list[float]]] = {}
    others = [trial for trial in results.other_splits if (trial.arm, trial.stage) == (arm, "search")]
    for trial in (*results.of(arm, "search"), *others):
        if trial.status == "completed":
            by_split = found.setdefault(key_of(trial.configuration), {})
            by_split.setdefault(trial.search_split, []).append(trial.metric(results.metric.name))
    folds = len(results.study.folds)
    return {
        key: {split: mean_se(values).mean for split, values in by_split.items() if len(values) == folds}
        for key, by_split in found.items()
    }
