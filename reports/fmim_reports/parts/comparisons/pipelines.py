"""Whole pipelines: the search on several splits, each ended by its winner with a fresh seed, and their comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from fmim_core.records import ArmEntry
from fmim_reports.parts.comparisons.comparison import Claim, Comparison, compared, comparisons
from fmim_reports.parts.comparisons.tested import TestedArm
from fmim_reports.reading.files import key_of
from fmim_reports.reading.results import Results, once
from fmim_reports.reading.summary import arm_summaries, completed
from fmim_reports.stats import Crossed, PairedDifference

FEWEST_SPLITS = 5  # of fewer, a report leads with the selected configurations
PIPELINES = Claim("whole pipelines", " as whole pipelines", "search split")


@dataclass(frozen=True)
class Pipelines:
    """An arm's whole pipelines: by search split, the configuration it selected, and that one's test value.

    The winner of split r has fresh seed r. `own` are the test values of the study's winner with all fresh seeds.
    """

    arm: ArmEntry
    winners: Mapping[int, Mapping[str, Any]]
    values: Mapping[int, float]
    own: Mapping[int, float]

    @cached_property
    def keys(self) -> dict[int, Any]:
        """Return the winner of each split as a key by which equal ones are found."""
        return {split: key_of(winner) for split, winner in self.winners.items()}

    @property
    def same(self) -> list[int]:
        """Return the splits that selected what the study's own did."""
        return [split for split, key in self.keys.items() if key == self.keys[0]]


@once
def pipelines(results: Results) -> dict[str, Pipelines]:
    """Return those of every arm by its name; an arm without its own winner has none."""
    return {arm.name: _pipelines(results, arm) for arm in results.arms}


def _pipelines(results: Results, arm: ArmEntry) -> Pipelines:
    splits, by_split = range(results.study.search_splits), results.selection.by_split
    fixed = {split: by_split.get(split, {}).get(arm.name) for split in splits}
    winners = {split: one.configuration for split, one in fixed.items() if one and one.configuration is not None}
    if 0 not in winners:
        return Pipelines(arm, {}, {}, {})
    own, metric = completed(results.of(arm.name, "replicate"), results.metric.name), results.metric.name
    ends = [trial for trial in results.other_splits if (trial.arm, trial.stage) == (arm.name, "replicate")]
    values = {trial.search_split: trial.metric(metric) for trial in ends if trial.status == "completed"}
    found = Pipelines(arm, winners, {}, own)
    values |= {split: own[split] for split in found.same if split in own and split not in values}
    return replace(found, values=dict(sorted(values.items())))


def choosing(results: Results) -> list[Pipelines]:
    """Return those of the arms that have more than one configuration to select from."""
    return [found for found in pipelines(results).values() if found.arm.n_s > 1]


@dataclass(frozen=True)
class SearchedArm(TestedArm):
    """An arm whose values are those of its whole pipelines, by search split."""

    pipelines: Pipelines

    @property
    def values(self) -> Mapping[int, float]:
        """Return the test metric of each pipeline."""
        return self.pipelines.values

    @property
    def planned(self) -> int:
        """Return how many of them are planned."""
        return self.results.study.search_splits

    @property
    def diverged(self) -> list[int]:
        """Return the splits whose pipeline ended in a training that diverged."""
        others = (trial for trial in self.results.other_splits if trial.arm == self.arm.name)
        own = [seed for seed in super().diverged if seed in self.pipelines.same]
        return [*own, *(one.search_split for one in others if one.stage == "replicate" and one.status == "diverged")]

    @property
    def queries(self) -> pd.DataFrame:
        """Return each scored query's value with each pipeline: of its own trial, or of the study's replicate."""
        ends, own = self.results.ends.values(self.arm.name, self.results.metric), super().queries
        rows = [one for one in (ends, own.drop(ends.index, errors="ignore")) if len(one)]
        found = pd.concat(rows) if rows else own
        return found[found.index.isin(list(self.values))].sort_index()

    def minus(self, other: TestedArm) -> tuple[PairedDifference, Crossed | None]:
        """Return the difference paired by split, and also by query if the queries of each pair are known."""
        paired, crossed = super().minus(other)
        return paired, crossed and with_df_of_splits(crossed)


def with_df_of_splits(crossed: Crossed) -> Crossed:
    """Return it with no more degrees of freedom over both than the splits have.

    Satterthwaite's are more where few splits happen to agree: with them 8 % of studies of equal pipelines on 5 splits
    showed a difference, by simulation.
    """
    return replace(crossed, over_both=crossed.over_both.limited(crossed.mean, crossed.seeds - 1))


@once
def whole_pipelines(results: Results) -> tuple[Comparison, ...]:
    """Return the declared comparisons of whole pipelines, corrected for their number."""
    arms = [SearchedArm(results, arm, pipelines(results)[arm.name]) for arm in arm_summaries(results)]
    return compared(results, arms, PIPELINES)


@once
def headlines(results: Results) -> tuple[Comparison, ...]:
    """Return the comparisons that a report leads with.

    They are of whole pipelines where each has at least `FEWEST_SPLITS` of both arms, else of selected configurations.
    """
    whole = whole_pipelines(results) if results.study.search_splits >= FEWEST_SPLITS else ()
    return whole if whole and all(one.paired.n >= FEWEST_SPLITS for one in whole) else comparisons(results)
