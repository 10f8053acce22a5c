"""The noncentral t distribution, from which intervals of effect sizes and the power of t tests follow."""

from __future__ import annotations

import math

from scipy import stats
from scipy.optimize import brentq


def below(t: float, df: int, noncentrality: float) -> float:
    """P(T ≤ t); SciPy says not-a-number far out, where it is 0 or 1."""
    share = float(stats.nct.cdf(t, df, noncentrality))
    return float(noncentrality < t) if math.isnan(share) else share


def noncentrality_of(t: float, df: int, share: float) -> float:
    """The noncentrality with which `share` of the distribution lies below t.

    SciPy's own inverse (`special.nctdtrinc`) is good to 3 to 7 digits only.
    """
    step = 1.0 if below(t, df, t) > share else -1.0  # what lies below falls as the noncentrality grows
    while (below(t, df, t + step) - share) * step > 0:
        step *= 2
    return float(brentq(lambda noncentrality: below(t, df, noncentrality) - share, t, t + step, xtol=1e-12))


def paired_power(effect: float, n: int, alpha: float) -> float:
    """How often a two-sided paired t test of n pairs finds a true standardised difference `effect`.

    statsmodels' `TTestPower` is this too, but is not-a-number for few pairs and large effects, and its `solve_power`
    then gives a wrong effect without a word (10.0 for 2 pairs and a power of 0.9, where 14.8 is right).
    """
    critical, noncentrality = float(stats.t.ppf(1 - alpha / 2, n - 1)), effect * math.sqrt(n)
    return 1 - below(critical, n - 1, noncentrality) + below(-critical, n - 1, noncentrality)
