"""What n replicates could have found: the smallest difference, the smallest margin of equivalence, and the n needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy import integrate, stats
from scipy.optimize import brentq

from reports.stats.noncentral import paired_power
from reports.stats.pairs import check_share

_MAX_REPLICATES = 1_000_000


@dataclass(frozen=True)
class Detectable:
    """The smallest difference, or margin, that `n` pairs whose differences have standard deviation `sd` could find."""

    value: float | None
    n: int
    sd: float | None
    power: float
    alpha: float
    note: str = ""


def smallest_difference(sd: float | None, n: int, power: float = 0.8, alpha: float = 0.05) -> Detectable:
    """The true difference that a two-sided paired t test of n pairs finds with probability `power`.

    `sd` is that of the paired differences (`PairedDifference.sd`). It says what the study was able to find, and makes
    no use of the difference it did find; since `sd` is itself estimated from n values, it is a guide, not a bound.

    Raises:
        ValueError: `power` or `alpha` outside (0, 1), or a negative `sd`.
    """
    trouble = _trouble(sd, n, power, alpha)
    if trouble or sd is None:
        return Detectable(None, n, sd, power, alpha, trouble)
    return Detectable(sd * _first(lambda effect: paired_power(effect, n, alpha), power), n, sd, power, alpha)


def smallest_margin(sd: float | None, n: int, power: float = 0.8, alpha: float = 0.05) -> Detectable:
    """The margin within which `equivalence` finds two equal arms equivalent with probability `power`, from n pairs.

    Equivalence within m is found when |d̄| < m − t s/√n with t = t(1 − alpha, n − 1); for a true difference of 0

        P = ∫ [2Φ(√n m/σ − t u) − 1] f(u) du  over 0 < u < √n m/(σ t),  u = s/σ = χ(n − 1)/√(n − 1),

    which is solved for m (Phillips 1990). Arms that truly differ need a larger margin.

    Raises:
        ValueError: `power` or `alpha` outside (0, 1), or a negative `sd`.
    """
    trouble = _trouble(sd, n, power, alpha)
    if trouble or sd is None:
        return Detectable(None, n, sd, power, alpha, trouble)
    return Detectable(sd * _first(lambda margin: equivalence_power(margin, n, alpha), power), n, sd, power, alpha)


def equivalence_power(margin: float, n: int, alpha: float = 0.05) -> float:
    """How often two equal arms are found equivalent within `margin` standard deviations of the paired differences."""
    spread, critical = stats.chi(n - 1, scale=1 / math.sqrt(n - 1)), stats.t.ppf(1 - alpha, n - 1)
    reach = math.sqrt(n) * margin
    found, _ = integrate.quad(
        lambda u: (2 * stats.norm.cdf(reach - critical * u) - 1) * spread.pdf(u), 0, reach / critical, epsabs=1e-12
    )
    return float(found)


def replicates_needed(difference: float, sd: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """The fewest pairs with which a two-sided paired t test finds a true `difference` with probability `power`.

    Raises:
        ValueError: `power` or `alpha` outside (0, 1), a `difference` of 0, an `sd` that is not positive, or more than
            a million pairs needed.
    """
    check_share("power", power)
    check_share("alpha", alpha)
    if not (sd > 0 and math.isfinite(sd) and math.isfinite(difference) and difference != 0):
        raise ValueError(f"difference {difference} and sd {sd} must be numbers, sd above 0 and difference not 0")

    def detects(n: int) -> bool:
        return paired_power(abs(difference) / sd, n, alpha) >= power

    low, high = 1, 2
    while not detects(high):
        low, high = high, 2 * high
        if high > _MAX_REPLICATES:
            raise ValueError(
                f"a difference of {difference} with sd {sd} needs more than {_MAX_REPLICATES:,} pairs: "
                "give a larger difference"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detects(middle) else (middle, high)
    return high


def _first(found: Callable[[float], float], power: float) -> float:
    """The smallest standardised effect at which `found`, which rises with it from alpha or from 0, reaches `power`."""
    high = 1.0
    while found(high) < power:
        high *= 2
    return float(brentq(lambda effect: found(effect) - power, 0.0, high, xtol=1e-12))


def _trouble(sd: float | None, n: int, power: float, alpha: float) -> str:
    check_share("power", power)
    check_share("alpha", alpha)
    if n < 2 or sd is None:
        return f"fewer than two pairs ({n}): nothing is known of what they could have found"
    if math.isnan(sd):
        return "the standard deviation is not a number"
    if sd < 0:
        raise ValueError(f"sd {sd} must not be negative: give the standard deviation of the paired differences")
    return "no variance: any difference would have been found" if sd == 0 else ""
