"""The gain of a search: the best score for a budget, and the ratio of costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from fmim_reports.stats.replicates import Bounded, Values, by_replicate, join, no_variance, pair


@dataclass(frozen=True)
class ExpectedBest:
    """Expected best score, and its variance, of each budget (number of configurations drawn) and its expected cost."""

    budgets: tuple[int, ...]
    expected: tuple[float, ...]
    variance: tuple[float, ...]
    n: int
    costs: tuple[float, ...] = ()
    note: str = ""


def expected_best(
    scores: Values, budgets: int | Iterable[int], costs: Values | None = None, higher_is_better: bool = True
) -> ExpectedBest:
    """Return the expected maximum of b of the N `scores`, drawn without replacement, for each budget b.

    E[max] = Σ_i s_(i) [C(i, b) − C(i − 1, b)] / C(N, b) over the sorted scores s_(1) ≤ … ≤ s_(N) (Tang et al. 2020):
    the mean over all subsets of b, which ends at the best score for b = N. Where configurations were drawn at random it
    is an unbiased estimate of what b of them yield; drawing with replacement (Dodge et al. 2019) gives too little,
    since one configuration may come twice. The variance is that between subsets, 0 for b = N. Where lower is better,
    the expected minimum by the same formula over scores sorted the other way. For configurations sampled independently,
    or a grid taken in random order; an adaptive search has `best_so_far`.
    With `costs` (one per configuration, keyed as `scores`) b draws are expected to cost b × their mean.
    A score or cost that is not a number makes the result so, and is counted in `note`.

    Raises:
        ValueError: no scores, costs of other configurations, or a budget that is not a whole number from 1 to N.
    """
    by_key = by_replicate(scores)
    cost_of = dict.fromkeys(by_key, 0.0) if costs is None else by_replicate(costs)
    if not by_key:
        raise ValueError("scores are empty: the best of a search needs at least one configuration's score")
    if cost_of.keys() != by_key.keys():
        apart = sorted(map(str, cost_of.keys() ^ by_key.keys()))
        raise ValueError(f"costs and scores must be of the same configurations, only one has {', '.join(apart)}")
    n, sizes = len(by_key), [budgets] if isinstance(budgets, int | np.integer) else list(budgets)
    if not sizes or any(not (1 <= b <= n and b == int(b)) for b in sizes):
        raise ValueError(f"budgets must be whole numbers from 1 to the number of scores, {n}, got {sizes}")
    spent = np.array([cost_of[key] for key in by_key])
    s = np.sort(list(by_key.values()))[:: 1 if higher_is_better else -1]
    whole = tuple(int(b) for b in sizes)
    moments = np.array([_moments(s, b) for b in whole])
    counts = {"scores": int(np.isnan(s).sum()), "costs": int(np.isnan(spent).sum())}
    return ExpectedBest(
        budgets=whole,
        expected=tuple(moments[:, 0].tolist()),
        variance=tuple(moments[:, 1].tolist()),
        n=n,
        costs=() if costs is None else tuple((np.array(whole) * spent.mean()).tolist()),
        note=join(f"{k} of {n} {name} are not a number" for name, k in counts.items() if k),
    )


def _moments(s: np.ndarray, b: int) -> tuple[float, float]:
    """Return mean and variance of the last of b of the sorted scores; C(i, b) may be too large, so it is a product."""
    above = np.arange(s.size, 0, -1)
    within = np.concatenate([[1.0], np.cumprod((above - b) / above)])[::-1]  # C(i, b) / C(N, b) for i = 0 … N
    weights = np.diff(within)
    mean = weights @ s
    return mean, weights @ (s - mean) ** 2


def best_so_far(scores: Sequence[float], higher_is_better: bool = True) -> tuple[float, ...]:
    """Return the best of the first b scores, for every b, in the order in which configurations were proposed.

    For searches whose proposals depend on what came before (TPE, halving): their draws cannot be exchanged, so one
    search gives one curve, and its spread needs repeated searches. A score that is not a number (it failed) is not the
    best.
    """
    best = (np.fmax if higher_is_better else np.fmin).accumulate(np.asarray(scores, dtype=float))
    return tuple(best.tolist())


def area_under(budget: Sequence[float], best: Sequence[float], low: float, high: float, steps: bool = False) -> float:
    """Return the mean height of a curve of best scores between two budgets: ∫ best d(budget) / (high − low).

    The integral is by trapezoids, between points on straight lines; with `steps` (for `best_so_far`, whose best does
    not change until the next configuration is done) it is that of the staircase. It is in the unit of the scores, 1
    being a perfect score over the whole range. To compare arms, declare one range for all of them, in one unit
    (configurations, or device-seconds): a linear one, so that late budgets weigh as much as early ones.

    Raises:
        ValueError: a range that is empty or not covered by the budgets, which rise.
    """
    x, y = np.asarray(budget, dtype=float), np.asarray(best, dtype=float)
    covered = high <= x[-1] or steps  # a staircase stays where it is once the search has ended
    if not (x[0] <= low < high and covered):
        raise ValueError(f"the range {low} to {high} must rise and lie within the budgets, {x[0]:g} to {x[-1]:g}")
    at = np.concatenate([[low], x[(x > low) & (x < high)], [high]])
    if steps:
        heights = y[np.searchsorted(x, at[:-1], side="right") - 1]
        return float((heights * np.diff(at)).sum() / (high - low))
    return float(np.trapezoid(np.interp(at, x, y), at) / (high - low))


def cost_ratio(a: Values, b: Values) -> Bounded:
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
        return Bounded(None, note=pairs.note(why), n=n)
    ratio = float(x.sum()) / total
    low, high, found = _fieller(x, y, ratio)
    return Bounded(ratio, low, high, pairs.note(found), n)


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
