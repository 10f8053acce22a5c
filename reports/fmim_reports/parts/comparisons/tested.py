"""An arm as it is compared: by its seeds and queries on the test set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, chance_name, completed
from fmim_reports.stats import Crossed, PairedDifference, crossed_difference, mean_se, paired_difference


@dataclass(frozen=True)
class TestedArm:
    """An arm of a study, with all its seeds or the first so many."""

    results: Results
    arm: ArmSummary
    seeds: int | None = field(default=None, kw_only=True)

    @property
    def values(self) -> Mapping[int, float]:
        """Return its test metric by replicate."""
        return {seed: value for seed, value in self.arm.test.values.items() if self.seeds is None or seed < self.seeds}

    @property
    def planned(self) -> int:
        """Return how many of them are planned."""
        return self.arm.test.of

    @property
    def queries(self) -> pd.DataFrame:
        """Return each scored query's value with each of these: replicates × queries."""
        values = self.results.queries.values(self.arm.name, self.results.metric)
        return values if self.seeds is None else values[values.index < self.seeds]

    @property
    def chance(self) -> float:
        """Return the metric of a random ranking; not-a-number where it is not known."""
        trials = self.results.of(self.arm.name, "replicate")
        return mean_se(completed(trials, chance_name(self.results))).mean

    @property
    def diverged(self) -> list[int]:
        """Return the seeds with which its training diverged: results, which no mean has in it."""
        return [trial.replicate for trial in self.results.of(self.arm.name, "replicate") if trial.status == "diverged"]

    def bound(self, other: TestedArm) -> PairedDifference | None:
        """Return the difference with every diverged seed scored at chance; None where none diverged."""
        if not self.diverged and not other.diverged:
            return None
        chance = next((one.chance for one in (self, other) if not math.isnan(one.chance)), math.nan)
        ours, theirs = ({**dict.fromkeys(one.diverged, chance), **one.values} for one in (self, other))
        return paired_difference(ours, theirs)

    def same_task(self, other: TestedArm) -> bool:
        """Say if a random ranking scores the same for both, or it is not known for one.

        Otherwise the arms are scored on different tasks: with each knee its own identity, for example, a query has
        half the matches, so the metric differs without any difference in training.
        """
        chances = (self.chance, other.chance)
        return any(map(math.isnan, chances)) or math.isclose(*chances, abs_tol=1e-6)

    def minus(self, other: TestedArm) -> tuple[PairedDifference, Crossed | None]:
        """Return the difference paired by replicate, and also by query if the queries of each pair are known."""
        paired = paired_difference(self.values, other.values)
        crossed = crossed_difference(self.queries, other.queries, other.results.queries.subjects)
        whole = crossed.seeds == paired.n and crossed.over_both.low is not None
        return paired, crossed if whole else None
