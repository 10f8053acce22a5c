"""The optimism of selection: how much better the best of N_s configurations looks than it is.

A selected configuration's validation score is the best of several, so part of its lead is luck. `optimism` is that
score minus the result with fresh seeds. It has more than selection in it, since the fresh-seed models are trained on
more subjects and tested on other ones; an arm with N_s = 1 selects nothing, so its optimism shows what that does alone.

There is no estimate of the luck alone from the folds of the search. Selection on all folds but one, Tibshirani and
Tibshirani (2009), and bootstraps of the configurations' means were simulated, with 3 and 5 folds of 4 and 16
configurations: each was far off for some searches, by a tenth to the double, and none had an interval.
"""

from __future__ import annotations

import numpy as np
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from fmim_reports.stats.means import Values, by_replicate
from fmim_reports.stats.pairs import Interval, join, no_variance


def optimism(validation: Values, fresh: Values, higher_is_better: bool = True) -> Interval:
    """Return the mean of `validation` (the winner's score by fold) minus that of `fresh` (its result by fresh seed).

    Where lower is better it is the mean of `fresh` minus that of `validation`: positive where the winner looked too
    good; None without both. The interval is Welch's: folds and seeds are not pairs, and vary differently. It covers 93
    to 96 % for 3 to 10 of each. It takes folds as independent, which they nearly are (they share training subjects).
    """
    groups = {
        name: np.array(list(by_replicate(values).values()), dtype=float)
        for name, values in (("fold", validation), ("seed", fresh))
    }
    first, second = groups.values() if higher_is_better else reversed(groups.values())
    lead = float(first.mean() - second.mean()) if len(first) and len(second) else None
    if note := _trouble(groups):
        return Interval(lead, note=note)
    compared = CompareMeans(DescrStatsW(first), DescrStatsW(second))
    low, high = compared.tconfint_diff(alpha=1 - 0.95, usevar="unequal")
    return Interval(lead, float(low), float(high))


def _trouble(groups: dict[str, np.ndarray]) -> str:
    """Return why there is no interval; empty when there is one."""
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
