"""The optimism of selection: how much better the best of N_s configurations looks than it is.

A selected configuration's validation score is the best of several, so part of its lead is luck. `optimism` is that
score minus the result with fresh seeds. It has more than selection in it, since the fresh-seed models are trained on
more subjects and tested on other ones; an arm with N_s = 1 selects nothing, so its optimism shows what that does alone.

There is no estimate of the luck alone from the folds of the search. Five were simulated, with 3 and 5 folds of 4 and 16
configurations: selection on all folds but one (as it is, or times √((k − 1)/k); exactly 0 whenever one configuration
wins each time), Tibshirani and Tibshirani (2009), and bootstraps of the configurations' means, as they are or shrunk.
Each was right for some searches and far off for others, by a tenth to the double, nobody knows which kind is at hand,
and none had an interval.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from fmim_reports.stats.means import MeanSE, Values, by_replicate, mean_se
from fmim_reports.stats.pairs import check_share, join, no_variance


@dataclass(frozen=True)
class Optimism:
    """Mean validation score of the winner over folds minus its mean over fresh seeds, with Welch's interval.

    Where lower is better it is the other way round.
    """

    optimism: float
    validation: MeanSE
    fresh: MeanSE
    low: float | None
    high: float | None
    level: float
    note: str = ""


def optimism(validation: Values, fresh: Values, level: float = 0.95, higher_is_better: bool = True) -> Optimism:
    """Mean of `validation` (the winner's score by fold) minus mean of `fresh` (its result by fresh seed).

    Where lower is better it is the mean of `fresh` minus that of `validation`: positive where the winner looked too
    good. The interval is Welch's: folds and seeds are not pairs, and vary differently. It covers 93 to 96 % for 3 to 10
    of each. It takes folds as independent, which they nearly are (they share training subjects).

    Raises:
        ValueError: `level` outside (0, 1).
    """
    check_share("level", level)
    by_fold, by_seed = by_replicate(validation), by_replicate(fresh)
    ours, theirs = mean_se(by_fold), mean_se(by_seed)
    low, high, note = None, None, _trouble(by_fold, by_seed)
    if not note:
        pair = (by_fold, by_seed) if higher_is_better else (by_seed, by_fold)
        compared = CompareMeans(*(DescrStatsW(list(values.values())) for values in pair))
        low, high = (float(end) for end in compared.tconfint_diff(alpha=1 - level, usevar="unequal"))
    lead = ours.mean - theirs.mean if higher_is_better else theirs.mean - ours.mean
    return Optimism(lead, ours, theirs, low, high, level, note)


def _trouble(by_fold: Mapping[Hashable, float], by_seed: Mapping[Hashable, float]) -> str:
    """Why there is no interval; empty when there is one."""
    groups = {"fold": np.array(list(by_fold.values())), "seed": np.array(list(by_seed.values()))}
    few = [f"fewer than two {name}s ({len(values)}): no interval" for name, values in groups.items() if len(values) < 2]
    broken = [
        f"{count} of {len(values)} {name}s are not a number"
        for name, values in groups.items()
        if (count := int((~np.isfinite(values)).sum()))
    ]
    if few or broken:
        return join([*few, *broken])
    still = all(no_variance(values, values) for values in groups.values())
    return "no variance, over folds or over seeds: no interval" if still else ""
