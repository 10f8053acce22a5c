"""One value a replicate, and the mean ± SE of such values."""

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
    return {key: float(np.mean(np.asarray(value, dtype=float))) for key, value in values.items()}


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
