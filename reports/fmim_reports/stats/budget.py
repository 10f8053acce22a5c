"""The best score that a search buys for its budget: expected of sampled configurations, so far of adaptive searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fmim_reports.stats.means import Values, by_replicate
from fmim_reports.stats.pairs import join


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
