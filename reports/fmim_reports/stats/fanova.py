"""How much each hyperparameter of a search matters: functional ANOVA of a random forest (Hutter et al. 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from fmim_reports.stats.replicates import ROUNDING

_TREES, _OTHERS, _SEED = 64, 256, 0


@dataclass(frozen=True)
class Importance:
    """What a search says of its hyperparameters.

    shares: of each, the part of the variance over the space that it explains alone. marginals: of each, the mean at
    every level over all values of the others. r_squared: of the forest on configurations left out of its trees; at or
    below 0 it predicts them no better than their mean does.
    """

    shares: tuple[float, ...]
    marginals: tuple[tuple[float, ...], ...]
    r_squared: float


def importance(points: np.ndarray, scores: np.ndarray, levels: Sequence[int]) -> Importance | None:
    """Return the importance of d hyperparameters, from n configurations `(n, d)` and their scores `(n,)`.

    Of each tree f of a forest and hyperparameter j the share is Var_v m_j(v) / Var f, with m_j(v) = mean f(x) over
    x_j = v: its mean over the trees is what Optuna's FanovaImportanceEvaluator returns. Means over the others are over
    256 points of a Sobol sequence. The same numbers give the same answer; None where all scores are equal, or all that
    the trees expect at these points.

    Args:
        points: in [0, 1]: level k of a choice of K is (k + ½)/K, a value of a range its share of the way through.
        levels: K of each hyperparameter: of a choice its values, of a range the parts that are told apart.
    """
    from sklearn.ensemble import RandomForestRegressor  # takes a second, which reports without a search save

    if np.ptp(scores) < ROUNDING:
        return None
    forest = RandomForestRegressor(_TREES, oob_score=True, random_state=_SEED).fit(points, scores)
    others = (np.floor(qmc.Sobol(len(levels), scramble=False).random(_OTHERS) * levels) + 0.5) / levels
    shares, marginals = [], []
    for place, count in enumerate(levels):
        at = np.tile(others, (count, 1))
        at[:, place] = np.repeat((np.arange(count) + 0.5) / count, _OTHERS)
        found = np.stack([tree.predict(at) for tree in forest.estimators_]).reshape(_TREES, count, _OTHERS)
        means, variance = found.mean(axis=2), found.var(axis=(1, 2))
        if not (varies := variance > ROUNDING * scores.var()).any():
            return None
        shares.append(float((means.var(axis=1)[varies] / variance[varies]).mean()))
        marginals.append(tuple(means.mean(axis=0).tolist()))
    return Importance(tuple(shares), tuple(marginals), float(forest.oob_score_))
