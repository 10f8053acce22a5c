"""The noncentral t distribution, from which intervals of effect sizes follow."""

from __future__ import annotations

import math

from scipy import stats
from scipy.optimize import brentq


def below(t: float, df: float, noncentrality: float) -> float:
    """P(T ≤ t); SciPy says not-a-number far out, where it is 0 or 1."""
    share = float(stats.nct.cdf(t, df, noncentrality))
    return float(noncentrality < t) if math.isnan(share) else share


def noncentrality_of(t: float, df: float, share: float) -> float:
    """The noncentrality with which `share` of the distribution lies below t.

    SciPy's own inverse (`special.nctdtrinc`) is good to 3 to 7 digits only.
    """
    step = 1.0 if below(t, df, t) > share else -1.0  # what lies below falls as the noncentrality grows
    while (below(t, df, t + step) - share) * step > 0:
        step *= 2
    return float(brentq(lambda noncentrality: below(t, df, noncentrality) - share, t, t + step, xtol=1e-12))
