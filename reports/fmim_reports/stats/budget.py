"""What a search buys for its budget: expected best of sampled configurations, best so far of adaptive ones, area."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fmim_reports.stats.means import Values, by_replicate


@dataclass(frozen=True)
class ExpectedBest:
    """Expected best score, and its variance, of each budget (number of configurations drawn) and its expected cost."""

    budgets: tuple[int, ...]
    expected: tuple[float, ...]
    variance: tuple[float, ...]
    n: int
    costs: tuple[float, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class BestSoFar:
    """Best score among the first b configurations proposed, for each b, and what these cost together."""

    budgets: tuple[int, ...]
    best: tuple[float, ...]
    n: int
    costs: tuple[float, ...] = ()
    note: str = ""


def expected_best(
    scores: Values, budgets: int | Iterable[int], costs: Values | None = None, higher_is_better: bool = True
) -> ExpectedBest:
    """Expected maximum of b of the N `scores`, drawn without replacement, for each budget b (Tang et al. 2020).

    E[max] = Σ_i s_(i) [C(i, b) − C(i − 1, b)] / C(N, b) over the sorted scores s_(1) ≤ … ≤ s_(N): the mean over all
    subsets of b, which ends at the best score for b = N. Where configurations were drawn at random it is an unbiased
    estimate of what b of them yield; drawing with replacement (Dodge et al. 2019) gives too little, since one
    configuration may come twice. The variance is that between subsets, 0 for b = N. Where lower is better, the expected
    minimum by the same formula over scores sorted the other way. For configurations sampled independently, or a grid
    taken in random order; an adaptive search has `best_so_far`.
    With `costs` (one per configuration, keyed as `scores`) b draws are expected to cost b × their mean.
    A score or cost that is not a number makes the result so, and is counted in `note`.

    Raises:
        ValueError: no scores, costs of other configurations, or a budget that is not a whole number from 1 to N.
    """
    found, spent_each = _scores_and_costs(scores, costs)
    sizes = [budgets] if isinstance(budgets, int | np.integer) else list(budgets)
    if not sizes or any(not (1 <= b <= found.size and b == int(b)) for b in sizes):
        raise ValueError(f"budgets must be whole numbers from 1 to the number of scores, {found.size}, got {sizes}")
    s = np.sort(found) if higher_is_better else np.sort(found)[::-1]
    whole = tuple(int(b) for b in sizes)
    weights = (np.diff(_within(s.size, b)) for b in whole)  # (N,) each; all together take GiBs where N is 10,000
    moments = np.array([_mean_and_variance(s, each) for each in weights])
    spent = () if spent_each is None else tuple((np.array(whole) * spent_each.mean()).tolist())
    note = _unknown(found, spent_each)
    return ExpectedBest(whole, tuple(moments[:, 0].tolist()), tuple(moments[:, 1].tolist()), int(s.size), spent, note)


def _mean_and_variance(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    mean = weights @ values
    return mean, weights @ (values - mean) ** 2


def _within(n: int, b: int) -> np.ndarray:
    """C(i, b) / C(n, b) for i = 0 … n: how often b of n are among the first i. A product, since C may be too large."""
    above = np.arange(n, 0, -1)
    return np.concatenate([[1.0], np.cumprod((above - b) / above)])[::-1]


def best_so_far(scores: Values, costs: Values | None = None, higher_is_better: bool = True) -> BestSoFar:
    """The best of the first b scores, for every b, in the order in which configurations were proposed.

    For searches whose proposals depend on what came before (TPE, halving): their draws cannot be exchanged, so one
    search gives one curve, and its spread needs repeated searches. A configuration whose score is not a number (it
    failed) counts with its cost and is not the best; `note` counts such ones.

    Raises:
        ValueError: no scores, or costs of other configurations.
    """
    found, spent_each = _scores_and_costs(scores, costs)
    best = (np.fmax if higher_is_better else np.fmin).accumulate(found)
    spent = () if spent_each is None else tuple(np.cumsum(spent_each).tolist())
    budgets = tuple(range(1, found.size + 1))
    return BestSoFar(budgets, tuple(best.tolist()), found.size, spent, _unknown(found, spent_each))


def area_under(budget: Sequence[float], best: Sequence[float], low: float, high: float, steps: bool = False) -> float:
    """The mean height of a curve of best scores between two budgets: ∫ best d(budget) / (high − low).

    The integral is by trapezoids, between points on straight lines; with `steps` (for `best_so_far`, whose best does
    not change until the next configuration is done) it is that of the staircase. It is in the unit of the scores, 1
    being a perfect score over the whole range. To compare arms, declare one range for all of them, in one unit
    (configurations, or device-seconds): a linear one, so that late budgets weigh as much as early ones.

    Raises:
        ValueError: lengths that differ, budgets that do not rise, or a range that is empty or not covered by them.
    """
    x, y = np.asarray(budget, dtype=float), np.asarray(best, dtype=float)
    if x.shape != y.shape or x.size == 0 or bool((np.diff(x) <= 0).any()):
        raise ValueError(f"budget must rise and have a best score each, got {x.tolist()} and {y.tolist()}")
    covered = high <= x[-1] or steps  # a staircase stays where it is once the search has ended
    if not (x[0] <= low < high and covered):
        raise ValueError(f"the range {low} to {high} must rise and lie within the budgets, {x[0]:g} to {x[-1]:g}")
    inside = x[(x > low) & (x < high)]
    at = np.concatenate([[low], inside, [high]])
    if steps:
        heights = y[np.searchsorted(x, at[:-1], side="right") - 1]
        return float((heights * np.diff(at)).sum() / (high - low))
    return float(np.trapezoid(np.interp(at, x, y), at) / (high - low))


def _scores_and_costs(scores: Values, costs: Values | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Both as arrays in the order of the scores."""
    found = by_replicate(scores)
    if not found:
        raise ValueError("scores are empty: the best of a search needs at least one configuration's score")
    if costs is None:
        return np.array(list(found.values())), None
    spent = by_replicate(costs)
    if spent.keys() != found.keys():
        apart = sorted(map(str, spent.keys() ^ found.keys()))
        raise ValueError(f"costs and scores must be of the same configurations, only one has {', '.join(apart)}")
    return np.array(list(found.values())), np.array([spent[key] for key in found])


def _unknown(scores: np.ndarray, costs: np.ndarray | None) -> str:
    counts = {"scores": int(np.isnan(scores).sum()), "costs": 0 if costs is None else int(np.isnan(costs).sum())}
    return "; ".join(f"{k} of {scores.size} {name} are not a number" for name, k in counts.items() if k)
