"""The optimism of selection: how much better the best of N_s configurations looks than it is.

A selected configuration's validation score is the best of several, so part of its lead is luck. Both figures below are
positive where the winner looks better than it is, whichever direction of the score is the better one:

* `optimism` is the declared one: validation score of the winner minus its result with fresh seeds. It has more than
  selection in it, since the fresh-seed models are trained on more subjects and tested on other ones. An arm with
  N_s = 1 selects nothing, so its `optimism` shows what that change of data does alone.
* `left_out_optimism` selects on all folds but one and scores on that one. Nothing but the selection differs, and no
  training is needed; it is the optimism of a selection on one fold fewer.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from reports.stats.means import MeanSE, Values, by_replicate, mean_se
from reports.stats.pairs import check_share, join, no_variance


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


@dataclass(frozen=True)
class LeftOutOptimism:
    """Mean over folds of: the winner's score on the folds it was selected on minus that on the fold left out.

    `by_fold` has the terms and `winners` the configuration selected without each fold. There is no interval: the terms
    share folds, and each has the ease of its fold in it, which cancels in the mean only.
    """

    optimism: float | None
    by_fold: Mapping[Hashable, float]
    winners: Mapping[Hashable, Hashable]
    configurations: int
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


def left_out_optimism(scores: Mapping[Hashable, Values], higher_is_better: bool = True) -> LeftOutOptimism:
    """Leave-one-fold-out optimism of selecting the best mean, from configuration → (fold → validation score).

    For each fold f: w_f is the configuration with the best mean over the other folds (the first of equal ones, as
    the study selects), and the term is mean over the other folds of s(w_f) − s_f(w_f), with the other sign where lower
    is better. An easy or hard fold cancels in the mean over f, and so does a configuration that wins every time. k − 1
    folds choose more luckily than k: with independent errors by √(k/(k − 1)).

    Only configurations with a score on every fold take part, as in the selection; `note` counts the others.
    """
    keyed = {configuration: by_replicate(values) for configuration, values in scores.items()}
    folds = list(dict.fromkeys(fold for values in keyed.values() for fold in values))
    whole = {c: v for c, v in keyed.items() if all(math.isfinite(v.get(fold, math.nan)) for fold in folds)}
    left = f"{len(keyed) - len(whole)} of {len(keyed)} configurations lack a fold's score" if whole != keyed else ""
    if not whole or len(folds) < 2:
        why = f"{len(folds)} folds: leaving one out needs two" if whole else "no configuration has a score on each fold"
        return LeftOutOptimism(None, {}, {}, len(whole), join([why, left]))
    names = list(whole)
    sign = 1.0 if higher_is_better else -1.0
    table = sign * np.array([[values[fold] for fold in folds] for values in whole.values()])  # (configurations, folds)
    columns = np.arange(len(folds))
    others = np.stack([np.delete(table, column, axis=1).mean(axis=1) for column in columns], axis=1)
    winners = others.argmax(axis=0)  # the first of equal ones
    terms = others[winners, columns] - table[winners, columns]
    alone = "one configuration: nothing was selected" if len(whole) == 1 else ""
    return LeftOutOptimism(
        optimism=0.0 if alone else float(terms.mean()),
        by_fold=dict(zip(folds, terms.tolist(), strict=True)),
        winners=dict(zip(folds, (names[i] for i in winners), strict=True)),
        configurations=len(whole),
        note=join([alone, left]),
    )
