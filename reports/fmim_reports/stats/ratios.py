"""How many times as much one arm cost as another, with an interval."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from fmim_reports.stats.means import Values
from fmim_reports.stats.pairs import check_share, no_variance, pair


@dataclass(frozen=True)
class CostRatio:
    """Total cost of a over that of b, over `n` pairs, with Fieller's interval [low, high]."""

    ratio: float | None
    n: int
    low: float | None
    high: float | None
    level: float
    missing: tuple[Hashable, ...] = ()
    note: str = ""


def cost_ratio(a: Values, b: Values, level: float = 0.95) -> CostRatio:
    """Σa / Σb over the replicates both have (folds of a search, or seeds), with Fieller's (1954) paired interval.

    The interval is every ρ that the paired t test of a − ρb does not reject, |ā − ρb̄| ≤ t sd(a − ρb)/√n. It so
    belongs to the ratio of totals that a report shows, and shared trouble (a slow fold) does not widen it.

    A cost that is not a number, a total of b of 0, fewer than two pairs, or costs that stand in one ratio exactly leave
    no interval; so does a b that varies so much that its mean could be 0. `note` says which.

    Raises:
        ValueError: `level` outside (0, 1), or a negative cost.
    """
    check_share("level", level)
    pairs = pair(a, b)
    x, y, n = pairs.a, pairs.b, pairs.n
    if bool((x < 0).any() or (y < 0).any()):
        raise ValueError(f"costs must not be negative, got {x.tolist()} and {y.tolist()}")
    unknown = int((~np.isfinite(pairs.d)).sum())
    total = float(y.sum())
    if n == 0 or unknown or total == 0:
        why = "no replicate that both completed" if n == 0 else "b cost nothing: no ratio"
        why = f"{unknown} of {n} pairs have a cost that is not known" if unknown else why
        return CostRatio(None, n, None, None, level, pairs.missing, pairs.note(why))
    ratio = float(x.sum()) / total
    low, high, found = _fieller(x, y, ratio, level)
    return CostRatio(ratio, n, low, high, level, pairs.missing, pairs.note(found))


def _fieller(x: np.ndarray, y: np.ndarray, ratio: float, level: float) -> tuple[float | None, float | None, str]:
    """The ends, or why there are none: the roots of ρ²(ȳ² − c s_yy) − 2ρ(x̄ȳ − c s_xy) + x̄² − c s_xx, c = t²/n."""
    n = len(x)
    if n < 2:
        return None, None, f"fewer than two pairs ({n}): no interval"
    if no_variance(x - ratio * y, np.concatenate([x, ratio * y])):
        return None, None, f"no variance: the ratio is {ratio:.6g} in all {n} pairs, so there is no interval"
    c = float(stats.t.ppf((1 + level) / 2, n - 1)) ** 2 / n
    (s_xx, s_xy), (_, s_yy) = np.cov(x, y, ddof=1)
    squared, linear, constant = y.mean() ** 2 - c * s_yy, x.mean() * y.mean() - c * s_xy, x.mean() ** 2 - c * s_xx
    if squared <= 0:
        return None, None, "the divisor varies too much for an interval of the ratio"
    root = math.sqrt(max(linear**2 - squared * constant, 0.0))
    return float((linear - root) / squared), float((linear + root) / squared), ""
