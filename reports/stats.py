"""The statistics of the reports: mean ± SE, paired differences, equivalence, Holm, and the expected best of n draws.

A replicate is a seed or a fold. Wherever replicates matter, values are keyed by them, so that a row written
twice is not counted twice and two arms are compared seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

Values = Mapping[Any, Any] | pd.Series | Iterable[float]


@dataclass(frozen=True)
class MeanSE:
    """Mean and standard error over `n` replicates; `nan` of the `n` values were not a number."""

    mean: float
    se: float | None
    n: int
    sd: float | None
    nan: int = 0


@dataclass(frozen=True)
class PairedDifference:
    """The mean of a − b over `n` pairs with its t interval [low, high]; `note` names what could not be computed."""

    difference: float
    se: float | None
    n: int
    low: float | None
    high: float | None
    p: float | None
    level: float
    missing: tuple[Hashable, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided paired t tests of |a − b| < margin; [low, high] is the 1 − 2·alpha interval of the difference."""

    difference: float
    margin: float
    p: float | None
    p_lower: float | None
    p_upper: float | None
    n: int
    low: float | None
    high: float | None
    equivalent: bool | None
    missing: tuple[Hashable, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Holm:
    """Holm-adjusted p values in the shape of the input (mapping or tuple); undefined ones stay not-a-number."""

    adjusted: Any
    rejected: Any
    alpha: float
    family: int
    note: str = ""


@dataclass(frozen=True)
class ExpectedBest:
    """Expected best score, and its variance, of each budget (number of configurations drawn)."""

    budgets: tuple[int, ...]
    expected: tuple[float, ...]
    variance: tuple[float, ...]
    n: int


@dataclass(frozen=True)
class FoldAverages:
    """Two averages over folds that differ when folds differ in size; a report says which one it shows."""

    mean_of_folds: float
    pooled: float


FOLD_LABELS = {
    "mean_of_folds": "mean of folds (each fold counts once)",
    "pooled": "pooled (each query counts once)",
}


def by_replicate(values: Values) -> dict[Hashable, float]:
    """One value a replicate: several values of one replicate (its folds, a row written twice) are averaged first.

    A mapping is replicate → value or replicate → values; a Series is keyed by its index, which may repeat;
    any other sequence is one replicate a value, keyed by position.
    """
    if isinstance(values, pd.Series):
        values = {key: group.to_numpy() for key, group in values.groupby(level=0, sort=False)}
    if not isinstance(values, Mapping):
        values = dict(enumerate(values))
    return {key: float(np.mean(np.asarray(value, dtype=float))) for key, value in values.items()}


def mean_se(values: Values) -> MeanSE:
    """Mean ± SE over replicates, SE = sd(ddof=1) / √n.

    One replicate has no SE (`None`), and no replicate a mean that is not a number. A value that is not a number
    makes the mean and SE so too, and is counted in `nan`: it is never dropped.
    `values` as in `by_replicate`; folds within a seed are averaged before the SE over seeds is taken.
    """
    array = np.array(list(by_replicate(values).values()), dtype=float)
    n, nan = len(array), int(np.isnan(array).sum())
    if n == 0:
        return MeanSE(math.nan, None, 0, None)
    if n == 1:
        return MeanSE(float(array[0]), None, 1, None, nan)
    sd = float(array.std(ddof=1))
    return MeanSE(float(array.mean()), sd / math.sqrt(n), n, sd, nan)


def averages_over_folds(values: Sequence[float], sizes: Sequence[float]) -> FoldAverages:
    """Mean of folds Σ v_i / k, and pooled Σ v_i s_i / Σ s_i, of fold values v_i with fold sizes s_i.

    Raises:
        ValueError: not one positive size a fold.
    """
    v, s = np.asarray(values, dtype=float), np.asarray(sizes, dtype=float)
    if v.shape != s.shape or v.size == 0 or bool((s <= 0).any()):
        raise ValueError(f"values {list(values)} need as many positive sizes, got {list(sizes)}")
    return FoldAverages(float(v.mean()), float((v * s).sum() / s.sum()))


def paired_difference(a: Values, b: Values, level: float = 0.95) -> PairedDifference:
    """Mean of a − b, paired by replicate, with its `level` t interval and two-sided p value.

    `a` and `b` map replicate → value. Replicates that only one of them has are listed in `missing`, not used.
    With fewer than two pairs, without variance, or with a value that is not a number there is no interval and
    no p value, and `note` says why.

    Raises:
        ValueError: `level` outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level} must lie between 0 and 1, for example 0.95")
    d, missing = _pairs(a, b)
    trouble = _trouble(d)
    notes = [trouble, _missing_note(missing)]
    difference, se, low, high, p = _mean(d), mean_se(d).se, None, None, None
    if not trouble:
        sample = DescrStatsW(d)
        low, high = (float(x) for x in sample.tconfint_mean(alpha=1 - level))
        p = float(sample.ttest_mean(0)[1])
    return PairedDifference(difference, se, len(d), low, high, p, level, missing, _join(notes))


def equivalence(a: Values, b: Values, margin: float, alpha: float = 0.05) -> Equivalence:
    """TOST: is the paired difference a − b within ±`margin`? p is the larger of the two one-sided p values.

    `p_lower` tests difference ≤ −margin, `p_upper` tests difference ≥ margin; the interval is 1 − 2·alpha (90 %).

    Raises:
        ValueError: `margin` is not a positive finite number.
    """
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"margin {margin} must be a positive number, in the unit of the values (0.01 = 1 point)")
    d, missing = _pairs(a, b)
    trouble = _trouble(d)
    note = _join([trouble, _missing_note(missing)])
    if trouble:
        return Equivalence(_mean(d), margin, None, None, None, len(d), None, None, None, missing=missing, note=note)
    sample = DescrStatsW(d)
    p, lower, upper = sample.ttost_mean(-margin, margin)
    low, high = (float(x) for x in sample.tconfint_mean(alpha=2 * alpha))
    p, p_lower, p_upper = float(p), float(lower[1]), float(upper[1])
    return Equivalence(_mean(d), margin, p, p_lower, p_upper, len(d), low, high, p < alpha, missing=missing, note=note)


def holm(p_values: Mapping[Any, float | None] | Sequence[float | None], alpha: float = 0.05) -> Holm:
    """Holm's step-down correction: p_(i) becomes max over j ≤ i of (m − j + 1) p_(j), at most 1.

    An undefined p value (None or not-a-number) stays not-a-number, is not rejected, and is not part of the
    family of m tests; `note` counts them.

    Raises:
        ValueError: a p value outside [0, 1].
    """
    keys = list(p_values) if isinstance(p_values, Mapping) else list(range(len(p_values)))
    p = np.array([math.nan if p_values[key] is None else p_values[key] for key in keys], dtype=float)
    if bool(((p < 0) | (p > 1)).any()):
        raise ValueError(f"p values must lie in [0, 1], got {p.tolist()}")
    defined = ~np.isnan(p)
    adjusted, rejected = np.full(len(p), math.nan), np.zeros(len(p), dtype=bool)
    if defined.any():
        rejected[defined], adjusted[defined] = multipletests(p[defined], alpha=alpha, method="holm")[:2]
    undefined = int((~defined).sum())
    note = f"{undefined} of {len(p)} p values are undefined and not in the family" if undefined else ""
    if isinstance(p_values, Mapping):
        shaped: tuple[Any, Any] = (
            dict(zip(keys, adjusted.tolist(), strict=True)),
            dict(zip(keys, rejected.tolist(), strict=True)),
        )
    else:
        shaped = (tuple(adjusted.tolist()), tuple(rejected.tolist()))
    return Holm(*shaped, alpha=alpha, family=int(defined.sum()), note=note)


def expected_best(scores: Values, budgets: int | Sequence[int]) -> ExpectedBest:
    """Expected maximum of b draws with replacement from `scores`, for each budget b (Dodge et al. 2019, eq. 7).

    E[max] = Σ_i s_(i) [(i/N)^b − ((i−1)/N)^b] over the sorted scores s_(1) ≤ … ≤ s_(N); the variance likewise.
    A score that is not a number makes the result so.

    Raises:
        ValueError: no scores, or a budget that is not a whole number of at least 1.
    """
    sizes = [budgets] if isinstance(budgets, int | np.integer) else list(budgets)
    if not sizes or any(b < 1 or int(b) != b for b in sizes):
        raise ValueError(f"budgets must be whole numbers of at least 1, got {sizes}")
    s = np.sort(np.array(list(by_replicate(scores).values()), dtype=float))
    if s.size == 0:
        raise ValueError("scores are empty: the expected best needs at least one configuration's score")
    cumulative = np.arange(s.size + 1) / s.size
    weights = np.stack([np.diff(cumulative**b) for b in sizes])  # (budgets, N)
    expected = weights @ s
    variance = (weights * (s - expected[:, None]) ** 2).sum(axis=1)
    whole = tuple(int(b) for b in sizes)
    return ExpectedBest(whole, tuple(expected.tolist()), tuple(variance.tolist()), int(s.size))


def _pairs(a: Values, b: Values) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """The differences of the replicates both have, and the replicates that only one has."""
    first, second = by_replicate(a), by_replicate(b)
    shared = [key for key in first if key in second]
    missing = tuple(sorted(set(first) ^ set(second), key=lambda key: (str(type(key)), key)))
    return np.array([first[key] - second[key] for key in shared], dtype=float), missing


def _mean(d: np.ndarray) -> float:
    return float(d.mean()) if len(d) else math.nan


def _trouble(d: np.ndarray) -> str:
    """Why a t statistic of these differences does not exist; empty when it does."""
    if len(d) < 2:
        return f"fewer than two pairs ({len(d)}): no interval and no p value"
    if np.isnan(d).any():
        return f"{int(np.isnan(d).sum())} of {len(d)} differences are not a number"
    # Equal differences of decimals such as 0.3 − 0.2 still differ by rounding, hence not `== 0`.
    if d.std(ddof=1) <= 1e-12 * max(1.0, float(np.abs(d).max())):
        return f"no variance: all {len(d)} differences are {d.mean():.6g}, so there is no interval and no p value"
    return ""


def _missing_note(missing: tuple[Hashable, ...]) -> str:
    return f"without a partner: replicate {', '.join(map(str, missing))}" if missing else ""


def _join(notes: Iterable[str]) -> str:
    return "; ".join(note for note in notes if note)


__all__ = [
    "FOLD_LABELS",
    "Equivalence",
    "ExpectedBest",
    "FoldAverages",
    "Holm",
    "MeanSE",
    "PairedDifference",
    "averages_over_folds",
    "by_replicate",
    "equivalence",
    "expected_best",
    "holm",
    "mean_se",
    "paired_difference",
]
