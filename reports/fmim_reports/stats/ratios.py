"""How many times as much one arm cost as another, and how often one beats the other; each with an interval."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from fmim_reports.stats.means import Values
from fmim_reports.stats.pairs import ROUNDING, Interval, no_variance, pair


def cost_ratio(a: Values, b: Values) -> Interval:
    """Return Σa / Σb over the replicates both have (folds of a search, or seeds), with Fieller's (1954) interval.

    The interval is every ρ that the paired t test of a − ρb does not reject, |ā − ρb̄| ≤ t sd(a − ρb)/√n. It so
    belongs to the ratio of totals that a report shows, and shared trouble (a slow fold) does not widen it.

    A cost that is not a number, a total of b of 0, fewer than two pairs, or costs that stand in one ratio exactly leave
    no interval; so does a b that varies so much that its mean could be 0. `note` says which.

    Raises:
        ValueError: a negative cost.
    """
    pairs = pair(a, b)
    x, y, n = pairs.a, pairs.b, pairs.n
    if bool((x < 0).any() or (y < 0).any()):
        raise ValueError(f"costs must not be negative, got {x.tolist()} and {y.tolist()}")
    unknown = int((~np.isfinite(pairs.d)).sum())
    total = float(y.sum())
    if n == 0 or unknown or total == 0:
        why = "no replicate that both completed" if n == 0 else "b cost nothing: no ratio"
        why = f"{unknown} of {n} pairs have a cost that is not known" if unknown else why
        return Interval(None, note=pairs.note(why), n=n)
    ratio = float(x.sum()) / total
    low, high, found = _fieller(x, y, ratio)
    return Interval(ratio, low, high, pairs.note(found), n)


def _fieller(x: np.ndarray, y: np.ndarray, ratio: float) -> tuple[float | None, float | None, str]:
    """Return the roots of ρ²(ȳ² − c s_yy) − 2ρ(x̄ȳ − c s_xy) + x̄² − c s_xx, c = t²/n, or why there are none."""
    n = len(x)
    if n < 2:
        return None, None, f"fewer than two pairs ({n}): no interval"
    if no_variance(x - ratio * y, np.concatenate([x, ratio * y])):
        return None, None, f"no variance: the ratio is {ratio:.6g} in all {n} pairs, so there is no interval"
    c = float(stats.t.ppf(0.975, n - 1)) ** 2 / n
    (s_xx, s_xy), (_, s_yy) = np.cov(x, y, ddof=1)
    squared, linear, constant = y.mean() ** 2 - c * s_yy, x.mean() * y.mean() - c * s_xy, x.mean() ** 2 - c * s_xx
    if squared <= 0:
        return None, None, "the divisor varies too much for an interval of the ratio"
    root = math.sqrt(max(linear**2 - squared * constant, 0.0))
    return float((linear - root) / squared), float((linear + root) / squared), ""


def superiority(a: Values, b: Values) -> Interval:
    """Return P(a > b) + P(a = b)/2 over pairs of equal replicate (Bouthillier et al. 2021), with Clopper and Pearson's.

    It asks nothing of the values but their order, so it exists without variance too; with ties, which count half, the
    interval is that of a fractional count. For few pairs it is wide, and covers more than 95 %: 5 of 5 is [0.48, 1].
    """
    pairs = pair(a, b)
    if pairs.n == 0 or not np.isfinite(pairs.d).all():
        why = pairs.unusable if pairs.n > 1 else "no pair that both completed: no probability of superiority"
        return Interval(None, note=pairs.note(why), n=pairs.n)
    near = ROUNDING * np.maximum(np.abs(pairs.a), np.abs(pairs.b))
    better, ties = int((pairs.d > near).sum()), int((np.abs(pairs.d) <= near).sum())
    counted = better + ties / 2
    low, high = proportion_confint(counted, pairs.n, alpha=1 - 0.95, method="beta")
    note = pairs.note(f"{ties} of {pairs.n} pairs are ties and count half" if ties else "")
    return Interval(counted / pairs.n, float(low), float(high), note, pairs.n)
