"""Is one arm better than another, or as good? Paired differences, equivalence, and Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_ind
from statsmodels.stats.weightstats import DescrStatsW

from fmim_reports.stats.means import Values, by_replicate
from fmim_reports.stats.pairs import above_zero, check_share, no_variance, pair, smallest_note


@dataclass(frozen=True)
class PairedDifference:
    """The mean of a − b over `n` pairs, of which the differences have standard deviation `sd`.

    [low, high] is its t interval; `note` names what could not be computed. `correlation` of a and b over the pairs, and
    the `unpaired_se` that the difference would have without pairs, say what pairing bought.
    """

    difference: float
    se: float | None
    n: int
    low: float | None
    high: float | None
    p: float | None
    level: float
    sd: float | None = None
    correlation: float | None = None
    unpaired_se: float | None = None
    missing: tuple[Hashable, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class UnpairedDifference:
    """The mean of `n_a` values less that of `n_b` others; `df` are the degrees of freedom of its t interval."""

    difference: float
    n_a: int
    n_b: int
    level: float
    se: float | None = None
    df: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided paired t tests of |a − b| < margin; [low, high] is the 1 − 2·alpha interval of the difference."""

    difference: float
    margin: float
    alpha: float
    n: int
    p: float | None = None
    p_lower: float | None = None
    p_upper: float | None = None
    low: float | None = None
    high: float | None = None
    equivalent: bool | None = None
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


def paired_difference(a: Values, b: Values, level: float = 0.95) -> PairedDifference:
    """Mean of a − b, paired by replicate, with its `level` t interval and two-sided p value.

    `a` and `b` map replicate → value. Replicates that only one of them has are listed in `missing`, not used.
    With fewer than two pairs, without variance, or with a value that is not a number there is no interval and
    no p value, and `note` says why.

    Raises:
        ValueError: `level` outside (0, 1).
    """
    check_share("level", level)
    pairs = pair(a, b)
    sd, found = pairs.sd, pairs.trouble
    se = None if sd is None else sd / math.sqrt(pairs.n)
    low, high, p = None, None, None
    if not found:
        sample = DescrStatsW(pairs.d)
        low, high = (float(x) for x in sample.tconfint_mean(alpha=1 - level))
        p = above_zero(sample.ttest_mean(0)[1])
        found = smallest_note(p)
    return PairedDifference(
        difference=pairs.mean,
        se=se,
        n=pairs.n,
        low=low,
        high=high,
        p=p,
        level=level,
        sd=sd,
        correlation=pairs.correlation,
        unpaired_se=pairs.unpaired_se,
        missing=pairs.missing,
        note=pairs.note(found),
    )


def unpaired_difference(a: Values, b: Values, level: float = 0.95) -> UnpairedDifference:
    """Mean of a − b of independent replicates, with Welch's (1947) `level` t interval and two-sided p value.

    se² = s_a²/n_a + s_b²/n_b, with Satterthwaite's degrees of freedom. Where one of the two has fewer than two
    replicates, neither varies, or a value is not a number, there is no interval and no p value, and `note` says why.

    Raises:
        ValueError: `level` outside (0, 1).
    """
    check_share("level", level)
    x, y = (np.array(list(by_replicate(values).values()), dtype=float) for values in (a, b))
    difference = float(x.mean() - y.mean()) if len(x) and len(y) else math.nan
    none = UnpairedDifference(difference, len(x), len(y), level)
    broken = int((~np.isfinite(np.concatenate([x, y]))).sum())
    if min(len(x), len(y)) < 2:
        return replace(none, note=f"too few replicates ({len(x)} and {len(y)}): no interval and no p value")
    if broken:
        return replace(none, note=f"{broken} of {len(x) + len(y)} values are not a number")
    if no_variance(x, x) and no_variance(y, y):
        return replace(none, se=0.0, note="no variance: neither of the two varies, so there is no interval")
    found = ttest_ind(x, y, equal_var=False)
    low, high = map(float, found.confidence_interval(level))
    p = above_zero(found.pvalue)
    se = math.sqrt(x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y))
    return replace(none, se=se, df=float(found.df), low=low, high=high, p=p, note=smallest_note(p))


def equivalence(a: Values, b: Values, margin: float, alpha: float = 0.05) -> Equivalence:
    """TOST (Schuirmann 1987): is the paired difference a − b within ±`margin`? p is the larger of two one-sided ones.

    `p_lower` tests difference ≤ −margin, `p_upper` tests difference ≥ margin; the interval is 1 − 2·alpha (90 %), and
    lies within ±margin exactly when the two are `equivalent`.

    Raises:
        ValueError: `margin` is not a positive finite number, or `alpha` is outside (0, 0.5).
    """
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"margin {margin} must be a positive number, in the unit of the values (0.01 = 1 point)")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha {alpha} must lie between 0 and 0.5, for example 0.05")
    pairs = pair(a, b)
    found = pairs.trouble
    none = Equivalence(pairs.mean, margin, alpha, pairs.n, missing=pairs.missing, note=pairs.note(found))
    if found:
        return none
    sample = DescrStatsW(pairs.d)
    p, lower, upper = sample.ttost_mean(-margin, margin)
    low, high = sample.tconfint_mean(alpha=2 * alpha)
    return replace(
        none,
        p=above_zero(p),
        p_lower=above_zero(lower[1]),
        p_upper=above_zero(upper[1]),
        low=float(low),
        high=float(high),
        equivalent=bool(p < alpha),
        note=pairs.note(smallest_note(p)),
    )


def holm(p_values: Mapping[Any, float | None] | Iterable[float | None], alpha: float = 0.05) -> Holm:
    """Holm's (1979) step-down correction: p_(i) becomes max over j ≤ i of (m − j + 1) p_(j), at most 1.

    An undefined p value (None or not-a-number) stays not-a-number, is not rejected, and is not part of the
    family of m tests; `note` counts them.

    Raises:
        ValueError: a p value outside [0, 1].
    """
    named = p_values.to_dict() if isinstance(p_values, pd.Series) else p_values
    keyed = dict(named) if isinstance(named, Mapping) else dict(enumerate(named))
    p = np.array([math.nan if value is None else value for value in keyed.values()], dtype=float)
    if bool(((p < 0) | (p > 1)).any()):
        raise ValueError(f"p values must lie in [0, 1], got {p.tolist()}")
    order = np.argsort(p)  # what is not a number comes last
    family = int((~np.isnan(p)).sum())
    steps = np.arange(family, 0, -1) * p[order[:family]]
    adjusted = np.full(len(p), math.nan)
    adjusted[order[:family]] = np.minimum(np.maximum.accumulate(steps), 1)
    rejected = adjusted <= alpha
    undefined = len(p) - family
    note = f"{undefined} of {len(p)} p values are undefined and not in the family" if undefined else ""
    shaped: tuple[Any, Any] = tuple(adjusted.tolist()), tuple(rejected.tolist())
    if isinstance(named, Mapping):
        shaped = dict(zip(keyed, shaped[0], strict=True)), dict(zip(keyed, shaped[1], strict=True))
    return Holm(*shaped, alpha=alpha, family=family, note=note)
