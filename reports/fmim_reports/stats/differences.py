"""Is one arm better than another, or as good? Differences, paired or not, equivalence, and Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special
from scipy.optimize import brentq
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from fmim_reports.stats.replicates import (
    ROUNDING,
    Bounded,
    MeanSE,
    Values,
    above_zero,
    by_replicate,
    check_share,
    mean_se,
    no_variance,
    pair,
    smallest_note,
)


@dataclass(frozen=True)
class Uncertainty:
    """The SE of a mean with its degrees of freedom, and the mean's interval [low, high]; None where there is none."""

    se: float | None = None
    df: float | None = None
    low: float | None = None
    high: float | None = None

    def p(self, difference: float) -> float | None:
        """Return the two-sided p value of a t test that this difference is truly 0; None without an interval."""
        if not self.se or self.df is None:
            return None
        return above_zero(2 * special.stdtr(self.df, -abs(difference) / self.se))

    def equivalence_p(self, difference: float, margin: float) -> float | None:
        """Return that of two one-sided t tests that it truly lies outside ±margin, the larger one (Schuirmann 1987)."""
        if not self.se or self.df is None:
            return None
        return above_zero(special.stdtr(self.df, (abs(difference) - margin) / self.se))

    def limited(self, mean: float, df: float, level: float = 0.95) -> Uncertainty:
        """Return that of a mean with no more than `df` degrees of freedom, and its interval; nothing without one."""
        if self.se is None or self.low is None or self.df is None:
            return self
        reach = self.se * float(special.stdtrit(fewer := min(self.df, df), (1 + level) / 2))
        return Uncertainty(self.se, fewer, mean - reach, mean + reach)


UNKNOWN = Uncertainty()


@dataclass(frozen=True)
class PairedDifference:
    """The mean of a − b over `n` pairs, of which the differences have standard deviation `sd`.

    [low, high] is its t interval; `note` names what could not be computed. `correlation` is that of a and b over the
    pairs: pairing reduces the variance by about this share. `g` is the difference over `sd` without bias: Cohen's d_z
    with Hedges' correction, which grows with the correlation that arms have by sharing seeds, so that it compares with
    other such ones, not with those of independent groups.
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
    g: float | None = None
    missing: tuple[Hashable, ...] = ()
    note: str = ""

    @property
    def uncertainty(self) -> Uncertainty:
        """Return its SE over pairs with its interval; nothing without an interval."""
        return UNKNOWN if self.low is None else Uncertainty(self.se, self.n - 1, self.low, self.high)


@dataclass(frozen=True)
class UnpairedDifference:
    """The mean of a less that of b, over independent replicates; `note` says why there is no interval."""

    difference: float
    uncertainty: Uncertainty = UNKNOWN
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
    """Return the mean of a − b, paired by replicate, with its `level` t interval and two-sided p value.

    `a` and `b` map replicate → value. Replicates that only one of them has are listed in `missing`, not used.
    With fewer than two pairs, without variance, or with a value that is not a number there is no interval and
    no p value, and `note` says why.

    Raises:
        ValueError: `level` outside (0, 1).
    """
    check_share("level", level)
    pairs = pair(a, b)
    n, mean, sd, found = pairs.n, pairs.mean, pairs.sd, pairs.trouble
    finite, correlation = bool(np.isfinite(pairs.d).all()), None
    if finite and n > 2 and not any(no_variance(values, values) for values in (pairs.a, pairs.b)):
        correlation = float(np.corrcoef(pairs.a, pairs.b)[0, 1])
    none = PairedDifference(
        difference=mean,
        se=None if sd is None else sd / math.sqrt(n),
        n=n,
        low=None,
        high=None,
        p=None,
        level=level,
        sd=sd,
        correlation=correlation,
        missing=pairs.missing,
        note=pairs.note(found),
    )
    if found or not sd:
        return none
    sample = DescrStatsW(pairs.d)
    low, high = map(float, sample.tconfint_mean(alpha=1 - level))
    p = above_zero(sample.ttest_mean(0)[1])
    g = mean / sd * hedges_correction(n - 1) if n > 2 else None
    return replace(none, low=low, high=high, p=p, g=g, note=pairs.note(smallest_note(p)))


def hedges_correction(m: int) -> float:
    """Return J(m) of m > 1 degrees of freedom: E[J d] is the true standardised difference (Hedges 1981, eq. 6e).

    J = Γ(m/2) / (√(m/2) Γ((m − 1)/2))
    """
    return math.exp(special.gammaln(m / 2) - special.gammaln((m - 1) / 2)) / math.sqrt(m / 2)


def welch(a: MeanSE, b: MeanSE) -> Uncertainty:
    """Return the SE of the difference of two independent means, with Welch's (1947) 95 % t interval.

    Degrees of freedom are Satterthwaite's. A mean without an SE counts as exact; where neither has one, there is none.
    """
    parts = [(one.se**2, one.n - 1) for one in (a, b) if one.se]
    variance = math.fsum(part for part, _ in parts)
    if not variance:
        return Uncertainty()
    df = variance**2 / math.fsum(part**2 / free for part, free in parts)
    difference, half = a.mean - b.mean, float(special.stdtrit(df, 0.975)) * math.sqrt(variance)
    return Uncertainty(math.sqrt(variance), df, difference - half, difference + half)


def unpaired_difference(a: Values, b: Values) -> UnpairedDifference:
    """Return the mean of a less that of b, of independent replicates, with the interval of `welch`.

    Where one of the two has fewer than two
    replicates, neither varies, or a value is not a number, there is no interval, and `note` says why.
    """
    x, y = (np.array(list(by_replicate(values).values()), dtype=float) for values in (a, b))
    difference = float(x.mean() - y.mean()) if len(x) and len(y) else math.nan
    broken = int((~np.isfinite(np.concatenate([x, y]))).sum())
    if min(len(x), len(y)) < 2:
        note = f"too few replicates ({len(x)} and {len(y)}): no interval and no p value"
        return UnpairedDifference(difference, note=note)
    if broken:
        return UnpairedDifference(difference, note=f"{broken} of {len(x) + len(y)} values are not a number")
    if no_variance(x, x) and no_variance(y, y):
        note = "no variance: neither of the two varies, so there is no interval"
        return UnpairedDifference(difference, Uncertainty(0.0), note)
    uncertainty = welch(mean_se(x), mean_se(y))
    return UnpairedDifference(difference, uncertainty, smallest_note(uncertainty.p(difference) or math.nan))


def superiority(a: Values, b: Values) -> Bounded:
    """Return P(a > b) + P(a = b)/2 over pairs of equal replicate (Bouthillier et al. 2021), with Clopper and Pearson's.

    It asks nothing of the values but their order, so it exists without variance too; with ties, which count half, the
    interval is that of a fractional count. For few pairs it is wide, and covers more than 95 %: 5 of 5 is [0.48, 1].
    """
    pairs = pair(a, b)
    if pairs.n == 0 or not np.isfinite(pairs.d).all():
        why = pairs.unusable if pairs.n > 1 else "no pair that both completed: no probability of superiority"
        return Bounded(None, note=pairs.note(why), n=pairs.n)
    near = ROUNDING * np.maximum(np.abs(pairs.a), np.abs(pairs.b))
    better, ties = int((pairs.d > near).sum()), int((np.abs(pairs.d) <= near).sum())
    counted = better + ties / 2
    low, high = proportion_confint(counted, pairs.n, alpha=1 - 0.95, method="beta")
    note = pairs.note(f"{ties} of {pairs.n} pairs are ties and count half" if ties else "")
    return Bounded(counted / pairs.n, float(low), float(high), note, pairs.n)


def equivalence(a: Values, b: Values, margin: float, alpha: float = 0.05) -> Equivalence:
    """Test if the paired difference a − b is within ±`margin` (TOST, Schuirmann 1987): p is the larger one-sided one.

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
    low, high = map(float, sample.tconfint_mean(alpha=2 * alpha))
    p, p_lower, p_upper = map(above_zero, (p, lower[1], upper[1]))
    tested = replace(none, p=p, p_lower=p_lower, p_upper=p_upper, low=low, high=high)
    return replace(tested, equivalent=p < alpha, note=pairs.note(smallest_note(p)))


def smallest_margins(p_within: Mapping[Any, Callable[[float], float | None]], alpha: float = 0.05) -> dict[Any, float]:
    """Return the smallest margin within which equivalence of each is shown, by Holm over all.

    `p_within` gives the p value of each equivalence within a margin; with one that has none, nothing is tested. Of a
    single t test it is the farther end of the 1 − 2·alpha interval from 0. It is infinite where no margin up to 1 is
    large enough.
    """
    tested = {key: p for key, p in p_within.items() if p(1.0) is not None}

    def excess(margin: float, key: Any) -> float:
        return float(holm({key: p(margin) for key, p in tested.items()}).adjusted[key]) - alpha

    return {key: brentq(excess, 0.0, 1.0, (key,)) if excess(1.0, key) < 0 else math.inf for key in tested}


def holm(p_values: Mapping[Any, float | None] | Iterable[float | None], alpha: float = 0.05) -> Holm:
    """Correct by Holm's (1979) step-down method: p_(i) becomes max over j ≤ i of (m − j + 1) p_(j), at most 1.

    An undefined p value (None or not-a-number) stays not-a-number, is not rejected, and is not part of the
    family of m tests; `note` counts them.

    Raises:
        ValueError: a p value outside [0, 1].
    """
    named = hasattr(p_values, "keys")  # a mapping or a Series
    pairs: Any = p_values if named else enumerate(p_values)
    keyed: dict[Any, float | None] = dict(pairs)
    p = np.array([math.nan if value is None else value for value in keyed.values()], dtype=float)
    if bool(((p < 0) | (p > 1)).any()):
        raise ValueError(f"p values must lie in [0, 1], got {p.tolist()}")
    order, family = np.argsort(p), int((~np.isnan(p)).sum())  # what is not a number comes last
    steps = np.arange(family, 0, -1) * p[order[:family]]  # statsmodels' own collects all garbage at each call
    adjusted = np.full(len(p), math.nan)
    adjusted[order[:family]] = np.minimum(np.maximum.accumulate(steps), 1)
    undefined = len(p) - family
    note = f"{undefined} of {len(p)} p values are undefined and not in the family" if undefined else ""
    each, rejected = (
        dict(zip(keyed, values.tolist(), strict=True)) if named else tuple(values.tolist())
        for values in (adjusted, adjusted <= alpha)
    )
    return Holm(each, rejected, alpha, family, note)
