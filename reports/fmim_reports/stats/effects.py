"""How large is a difference, apart from its unit: standardised paired difference, and probability of superiority."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from scipy import special
from statsmodels.stats.proportion import proportion_confint

from fmim_reports.stats.means import Values
from fmim_reports.stats.noncentral import noncentrality_of
from fmim_reports.stats.pairs import ROUNDING, check_share, pair

_FARTHEST = 1e4  # t statistics beyond this are of differences that hardly vary, and the noncentral t loses its digits


@dataclass(frozen=True)
class EffectSize:
    """Standardised paired difference: `d_z` as observed, `g` without bias, [low, high] the interval of the true one."""

    d_z: float | None
    g: float | None
    n: int
    low: float | None
    high: float | None
    level: float
    missing: tuple[Hashable, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Superiority:
    """The probability that a beats b in a pair, from `better` of `n` pairs; each of the `ties` counts half."""

    probability: float | None
    better: int
    ties: int
    n: int
    low: float | None
    high: float | None
    level: float
    missing: tuple[Hashable, ...] = ()
    note: str = ""


def effect_size(a: Values, b: Values, level: float = 0.95) -> EffectSize:
    """Cohen's d_z = mean(a − b) / sd(a − b) with Hedges' correction, g = J d_z, paired by replicate.

    J = Γ(m/2) / (√(m/2) Γ((m − 1)/2)) with m = n − 1 (Hedges 1981, eq. 6e); two pairs have none, since J needs m > 1.
    The interval is that of the true standardised difference δ: √n d_z is noncentral t with m degrees of freedom and
    noncentrality √n δ, and the ends are those δ that leave (1 − level)/2 on either side (Steiger and Fouladi 1997).

    `d_z` divides by the spread of the differences, so it grows with the correlation that arms have by sharing seeds:
    it compares with other d_z, not with effect sizes of independent groups.

    Raises:
        ValueError: `level` outside (0, 1).
    """
    check_share("level", level)
    pairs = pair(a, b)
    n, trouble = pairs.n, pairs.trouble
    if trouble:
        return EffectSize(None, None, n, None, None, level, pairs.missing, pairs.note(trouble))
    assert pairs.sd  # else there were trouble
    d_z = pairs.mean / pairs.sd
    tail, t = (1 - level) / 2, d_z * math.sqrt(n)
    far = f"d_z is {d_z:.3g}, too large for its interval to be computed" if abs(t) > _FARTHEST else ""
    low, high = (None, None) if far else (noncentrality_of(t, n - 1, s) / math.sqrt(n) for s in (1 - tail, tail))
    few = "" if n > 2 else "two pairs: Hedges' correction needs at least three, so there is no g"
    return EffectSize(
        d_z=d_z,
        g=None if few else d_z * hedges_correction(n - 1),
        n=n,
        low=low,
        high=high,
        level=level,
        missing=pairs.missing,
        note=pairs.note(few, far),
    )


def hedges_correction(m: int) -> float:
    """Hedges' exact J(m) of m > 1 degrees of freedom: E[J d] is the true standardised difference."""
    return math.exp(special.gammaln(m / 2) - special.gammaln((m - 1) / 2)) / math.sqrt(m / 2)


def superiority(a: Values, b: Values, level: float = 0.95) -> Superiority:
    """P(a > b) + P(a = b)/2 over pairs of equal replicate (Bouthillier et al. 2021), with its Clopper-Pearson interval.

    It asks nothing of the values but their order, so it exists without variance too; with ties, which count half, the
    interval is that of a fractional count. For few pairs it is wide, and covers more than `level`: 5 of 5 is
    [0.48, 1].

    Raises:
        ValueError: `level` outside (0, 1).
    """
    check_share("level", level)
    pairs = pair(a, b)
    if pairs.n == 0 or not np.isfinite(pairs.d).all():
        why = pairs.unusable if pairs.n > 1 else "no pair that both completed: no probability of superiority"
        return Superiority(None, 0, 0, pairs.n, None, None, level, pairs.missing, pairs.note(why))
    near = ROUNDING * np.maximum(np.abs(pairs.a), np.abs(pairs.b))
    better, ties = int((pairs.d > near).sum()), int((np.abs(pairs.d) <= near).sum())
    counted = better + ties / 2
    low, high = proportion_confint(counted, pairs.n, alpha=1 - level, method="beta")
    note = pairs.note(f"{ties} of {pairs.n} pairs are ties and count half" if ties else "")
    return Superiority(counted / pairs.n, better, ties, pairs.n, float(low), float(high), level, pairs.missing, note)
