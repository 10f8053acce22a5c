"""Values by replicate: their mean ± SE, two arms paired by them, and what can be wrong with the pairs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Values = Mapping[Any, Any] | pd.Series | Iterable[float]
"""Replicate → value; without keys the values count as one replicate each."""


@dataclass(frozen=True)
class MeanSE:
    """Mean and standard error over `n` replicates; `nan` of the `n` values were not a number."""

    mean: float
    se: float | None
    n: int
    sd: float | None
    nan: int = 0


def by_replicate(values: Values) -> dict[Hashable, float]:
    """Return one value a replicate: several of one (its folds, a row written twice) are averaged first.

    A mapping is replicate → value or replicate → values; a Series is keyed by its index, which may repeat;
    any other sequence is one replicate a value, keyed by position.
    """
    if isinstance(values, pd.Series):
        values = {key: group.to_numpy() for key, group in values.groupby(level=0, sort=False, dropna=False)}
    if not isinstance(values, Mapping):
        values = dict(enumerate(values))
    return {
        key: float(value if isinstance(value, float) else np.mean(np.asarray(value, dtype=float)))
        for key, value in values.items()
    }


def mean_se(values: Values) -> MeanSE:
    """Return mean ± SE over replicates, SE = sd(ddof=1) / √n.

    One replicate has no SE (`None`), and no replicate a mean that is not a number. A value that is not a number
    makes the mean and SE so too, and is counted in `nan`: it is never dropped.
    `values` as in `by_replicate`; folds within a seed are averaged before the SE over seeds is taken.
    """
    array = np.array(list(by_replicate(values).values()), dtype=float)
    n, nan = len(array), int(np.isnan(array).sum())
    if n < 2:
        return MeanSE(float(array[0]) if n else math.nan, None, n, None, nan)
    sd = float(array.std(ddof=1))
    return MeanSE(float(array.mean()), sd / math.sqrt(n), n, sd, nan)


# What sums and means of equal numbers can differ by, relative to the numbers: 0.3 − 0.2 is not 0.9 − 0.8.
ROUNDING = 1e-12
SMALLEST_P = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Bounded:
    """A value with its 95 % interval [low, high], over `n` pairs if of pairs; `note` says why one is not there."""

    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    n: int = 0


@dataclass(frozen=True)
class Pairs:
    """The values of the replicates that both arms have, in one order, and the replicates that only one has."""

    a: np.ndarray
    b: np.ndarray
    missing: tuple[Hashable, ...]

    @property
    def d(self) -> np.ndarray:
        """Return the differences a − b."""
        return self.a - self.b

    @property
    def n(self) -> int:
        """Return the number of pairs."""
        return len(self.a)

    @property
    def mean(self) -> float:
        """Return the mean of a − b; not-a-number without a pair."""
        return float(self.d.mean()) if self.n else math.nan

    @property
    def sd(self) -> float | None:
        """Return the sd (ddof = 1) of the differences, 0 if they differ by no more than rounding; None of one."""
        if self.n < 2:
            return None
        if not np.isfinite(self.d).all():
            return math.nan
        return 0.0 if no_variance(self.d, np.concatenate([self.a, self.b])) else float(self.d.std(ddof=1))

    @property
    def unusable(self) -> str:
        """Return why nothing can be said of how the differences vary; empty when something can."""
        if self.n < 2:
            return f"fewer than two pairs ({self.n}): no interval and no p value"
        broken = int((~np.isfinite(self.d)).sum())
        return f"{broken} of {self.n} differences are not a number" if broken else ""

    @property
    def trouble(self) -> str:
        """Return why a t statistic of the differences does not exist; empty when it does."""
        if not self.unusable and self.sd == 0:
            return f"no variance: all {self.n} differences are {self.mean:.6g}, so there is no interval and no p value"
        return self.unusable

    def note(self, *found: str) -> str:
        """Return what was found and which replicates have no partner, as one text."""
        alone = f"without a partner: replicate {', '.join(map(str, self.missing))}" if self.missing else ""
        return join([*found, alone])


def pair(a: Values, b: Values) -> Pairs:
    """Pair two arms by replicate; `a` and `b` as in `by_replicate`."""
    first, second = by_replicate(a), by_replicate(b)
    shared = [key for key in first if key in second]
    missing = tuple(sorted(set(first) ^ set(second), key=lambda key: (str(type(key)), key)))
    x, y = (np.array([values[key] for key in shared], dtype=float) for values in (first, second))
    return Pairs(x, y, missing)


def no_variance(values: np.ndarray, of: np.ndarray) -> bool:
    """Say if `values` differ by no more than rounding does, when computed from numbers as large as `of`."""
    return float(values.std(ddof=1)) <= ROUNDING * float(np.abs(of).max())


def above_zero(p: float) -> float:
    """Return a p value as a float that is not 0: no p value is, though one can be too small to be held."""
    return max(float(p), SMALLEST_P)


def smallest_note(p: float) -> str:
    """Return what to say of a p value that `above_zero` had to raise."""
    return f"p < {SMALLEST_P:.1e}" if p <= SMALLEST_P else ""


def check_share(name: str, value: float) -> None:
    """Raise a ValueError unless 0 < value < 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} {value} must lie between 0 and 1, for example 0.95")


def join(notes: Iterable[str]) -> str:
    """Return the notes that there are as one text."""
    return "; ".join(filter(None, notes))
