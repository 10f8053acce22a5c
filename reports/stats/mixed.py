"""A mixed model: arms as fixed effects, folds and seeds as random ones, over all values at once."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize

from reports.stats.means import by_replicate
from reports.stats.pairs import ROUNDING, above_zero, check_share, join

FEWEST_GROUPS = 5
FACTORS = ("fold", "seed")
Key = tuple[Hashable, Hashable, Hashable]


@dataclass(frozen=True)
class ArmEffect:
    """An arm minus the reference, with its t interval [low, high] and two-sided p value."""

    arm: Hashable
    difference: float
    se: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class MixedModel:
    """Effects of the arms, and the variance of each random effect and of what is left (`residual`).

    There are no effects where there is no model; `note` then says why.
    """

    reference: Hashable
    level: float
    effects: tuple[ArmEffect, ...] = ()
    variances: Mapping[str, float] = field(default_factory=dict)
    n: int = 0
    df: int = 0
    note: str = ""


def mixed_model(values: Mapping[Key, Any], reference: Hashable, level: float = 0.95) -> MixedModel:
    """y = arm + fold + seed + e with fold ~ N(0, σ²_fold), seed ~ N(0, σ²_seed), e ~ N(0, σ²), fitted by REML.

    `values` maps (arm, fold, seed) → value, or values, which are averaged first; fold or seed is None where there is
    none. Replicates: arms × seeds. A search: put the configuration in the place of the arm, and None for the seed.
    Folds and seeds are crossed: one label is one fold or seed wherever it occurs, so seeds that belong to one fold
    need labels of their own. A factor with one level is left out.

    What it is for: with k arms over n seeds each difference is judged by the residual of all arms, on (k − 1)(n − 1)
    degrees of freedom instead of the n − 1 of a paired t test, and a missing value costs one value, not a pair. It
    takes the spread of differences to be the same for all arms, which a paired t test does not. Two arms without
    missing values get exactly the paired t interval (unless the variance of seeds is estimated as 0).

    The degrees of freedom are N − rank [arms, folds, seeds] ("containment"; exact for complete data). A variance
    estimated as 0 is no failure: seeds that do not matter give it half of the time, and it is named; leaving such
    results out would bias the others (cover 91 % instead of 95 % for two arms and five seeds).

    There is no model, and `note` says why: with fewer than five groups of a factor (a variance of three or four groups
    is hardly an estimate), a value that is not a number, no reference, factors or arms that cannot be told apart,
    nothing left to estimate the residual from, no variance, or a search for the maximum that does not end.

    REML is maximised here, with variances bounded at 0: statsmodels' MixedLM searches over their square roots, has no
    likelihood at 0 and did not converge for 114 of 600 simulated studies; and its intervals are normal ones, which
    cover 88 % for two arms and five seeds.

    Raises:
        ValueError: `level` outside (0, 1).
    """
    check_share("level", level)
    keyed: dict[Any, float] = dict(by_replicate(values))
    y = np.array(list(keyed.values()), dtype=float)
    columns = {name: [key[i] for key in keyed] for i, name in enumerate(("arm", *FACTORS))}
    arms = [reference, *(arm for arm in dict.fromkeys(columns["arm"]) if arm != reference)]
    groups = {name: codes for name in FACTORS if len(set(codes := columns[name])) > 1}
    trouble = _unusable(y, columns["arm"], reference, groups)
    if trouble:
        return MixedModel(reference, level, n=len(y), note=trouble)
    x = _indicators(columns["arm"], arms)
    x[:, 0] = 1
    zs = {name: _indicators(codes, list(dict.fromkeys(codes))) for name, codes in groups.items()}
    df, trouble = _left(y, x, list(zs.values()))
    if trouble:
        return MixedModel(reference, level, n=len(y), df=df, note=trouble)
    fit = _reml(y, x, list(zs.values()))
    if not fit.converged:
        return MixedModel(reference, level, n=len(y), df=df, note="no mixed model: REML did not converge")
    variances = dict(zip([*zs, "residual"], [*(fit.ratios * fit.residual).tolist(), fit.residual], strict=True))
    zero = [f"the variance of {name} is estimated as 0" for name in zs if variances[name] == 0]
    critical = float(stats.t.ppf((1 + level) / 2, df))
    effects = [
        _effect(arm, b, se, critical, df)
        for arm, b, se in zip(arms[1:], fit.effects[1:].tolist(), fit.errors[1:].tolist(), strict=True)
    ]
    return MixedModel(reference, level, tuple(effects), variances, len(y), df, join(zero))


def _effect(arm: Hashable, difference: float, se: float, critical: float, df: int) -> ArmEffect:
    p = above_zero(2 * stats.t.sf(abs(difference) / se, df))
    return ArmEffect(arm, difference, se, difference - critical * se, difference + critical * se, p)


def _unusable(y: np.ndarray, arms: list[Hashable], reference: Hashable, groups: Mapping[str, list[Hashable]]) -> str:
    """Why no model can be fitted to these values; empty when one may."""
    broken = int((~np.isfinite(y)).sum())
    counts = {name: len(set(codes)) for name, codes in groups.items()}
    few = [f"{count} {name}s" for name, count in counts.items() if count < FEWEST_GROUPS]
    same = len(groups) == 2 and {len(set(zip(*groups.values(), strict=True)))} == set(counts.values())
    reasons = {
        "no values": len(y) == 0,
        f"{broken} of {len(y)} values are not a number": broken > 0,
        f"no value of the reference {reference!r}": reference not in arms,
        "no other arm than the reference": len(set(arms)) < 2,
        "no folds or seeds to take as random": not groups,
        f"{' and '.join(few)}, and fewer than {FEWEST_GROUPS} groups do not give a variance": bool(few),
        "each fold has one seed of its own, so the two cannot be told apart: give one of them": same,
    }
    found = next((reason for reason, holds in reasons.items() if holds), "")
    return f"no mixed model: {found}" if found else ""


def _left(y: np.ndarray, x: np.ndarray, zs: list[np.ndarray]) -> tuple[int, str]:
    """Degrees of freedom that arms and groups leave, and why they leave no model; empty when they do."""
    groups, everything = np.hstack(zs), np.hstack([x, *zs])
    rank = int(np.linalg.matrix_rank(everything))
    df = len(y) - rank
    if rank < int(np.linalg.matrix_rank(groups)) + x.shape[1] - 1:
        return df, "no mixed model: some arms share no fold or seed with the others"
    if df < 1:
        return df, "no mixed model: arms and groups explain every value, nothing is left to judge differences by"
    residual = y - everything @ np.linalg.lstsq(everything, y)[0]
    if float(np.abs(residual).max()) <= ROUNDING * float(np.abs(y).max()):
        return df, "no mixed model: no variance, arms differ by the same in every fold and seed"
    return df, ""


def _indicators(codes: list[Hashable], levels: list[Hashable]) -> np.ndarray:
    """`(N, levels)`: 1 where the value is of the level."""
    return np.array([[float(code == level) for level in levels] for code in codes])


@dataclass(frozen=True)
class _Fit:
    """A REML fit: variance of each random effect over the residual one, and the fixed effects."""

    ratios: np.ndarray
    residual: float
    effects: np.ndarray
    errors: np.ndarray
    converged: bool


def _reml(y: np.ndarray, x: np.ndarray, zs: list[np.ndarray]) -> _Fit:
    """Maximises the restricted likelihood profiled over effects and residual variance.

    With V = I + Σ r_k Z_k Z_kᵀ, P = V⁻¹ − V⁻¹X(XᵀV⁻¹X)⁻¹XᵀV⁻¹ and N − p degrees of freedom,
    −2ℓ = log|V| + log|XᵀV⁻¹X| + (N − p) log yᵀPy. It is searched over the shares s_k = r_k/(1 + r_k) in [0, 1), in
    which both ends are near.
    """
    squares, left = [z @ z.T for z in zs], len(y) - x.shape[1]

    def parts(ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        v = np.eye(len(y)) + sum(r * square for r, square in zip(ratios, squares, strict=True))
        return v, np.linalg.inv(v), x.T @ np.linalg.solve(v, x)

    def objective(shares: np.ndarray) -> tuple[float, np.ndarray]:
        v, inverse, information = parts(shares / (1 - shares))
        p = inverse - inverse @ x @ np.linalg.solve(information, x.T @ inverse)
        py = p @ y
        value = np.linalg.slogdet(v)[1] + np.linalg.slogdet(information)[1] + left * math.log(y @ py)
        slope = np.array([(p * square).sum() - left * (py @ square @ py) / (y @ py) for square in squares])
        return float(value), slope / (1 - shares) ** 2

    bounds = [(0.0, 1 - 1e-9)] * len(zs)
    found = minimize(objective, np.full(len(zs), 0.5), jac=True, bounds=bounds, method="L-BFGS-B", tol=1e-12)
    slope = objective(found.x)[1]
    # By the logarithm of the ratio, which does not depend on its size; at 0 the likelihood may fall.
    steep = np.where(found.x > 0, np.abs(slope) * found.x * (1 - found.x), np.maximum(-slope, 0))
    ratios = found.x / (1 - found.x)
    _, inverse, information = parts(ratios)
    effects = np.linalg.solve(information, x.T @ inverse @ y)
    rest = y - x @ effects
    residual = float(rest @ inverse @ rest) / left
    errors = np.sqrt(residual * np.diag(np.linalg.inv(information)))
    return _Fit(ratios, residual, effects, errors, bool((steep < 1e-3).all()))
