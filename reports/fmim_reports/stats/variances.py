"""The part of a result that is the choice of the configuration: variances over repeated searches, split by split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fmim_reports.stats.replicates import join


@dataclass(frozen=True)
class SelectionVariance:
    """The variance of a test value over whole pipelines, in two parts; `share` is the selection's, at least 0.

    splits: searches, each of which selected one of `winners` distinct configurations. df: degrees of freedom of `seed`.
    """

    selection: float | None
    seed: float | None
    share: float | None
    splits: int
    winners: int
    df: int
    note: str = ""


@dataclass(frozen=True)
class ScoreVariance:
    """The variance of a validation score, in three parts, of so many configurations on so many splits.

    configuration: of their means. split: that all configurations share. rest: what is left.
    """

    configuration: float | None
    split: float | None
    rest: float | None
    configurations: int
    splits: int
    note: str = ""

    @property
    def shares(self) -> tuple[float, float, float] | None:
        """Return those of configuration, split and rest, of which a negative one counts 0; None without variances."""
        if self.configuration is None or self.split is None or self.rest is None:
            return None
        parts = [max(0.0, part) for part in (self.configuration, self.split, self.rest)]
        whole = sum(parts)
        return (parts[0] / whole, parts[1] / whole, parts[2] / whole) if whole > 0 else None


def selection_variance(winners: Sequence[Hashable], values: Mapping[Hashable, Sequence[float]]) -> SelectionVariance:
    """Return what the choice of the configuration and what the seed add to the variance of a test value.

    A whole pipeline searches on a split drawn anew and trains its winner with a fresh seed (Bouthillier et al. 2021).
    With w the winner, its test value T has Var T = Var(E[T | w]) + E[Var(T | w)], selection and seed. The split acts on
    T through the selection alone, since the last training and the test have the same subjects whatever the split.

    Args:
        winners: the configuration that each search selected.
        values: the test values of each of these configurations, with all seeds it was trained with; each seed draws
            independently of the others, and all configurations vary by it alike.

    With n_k searches of N that selected configuration k, and m_k values of it with mean x̄_k and sum of squares SS_k,

        seed = Σ SS_k / Σ (m_k − 1),  selection = [Σ n_k (x̄_k − x̄)² − seed Σ (1 − n_k/N) n_k/m_k] / (N − 1)

    where x̄ = Σ n_k x̄_k / N: one-way analysis of variance of unequal numbers (Searle, Casella and McCulloch 1992, ch.
    3.6), in which each search weighs the same. Both are unbiased, so `selection` may be negative. It is 0 where all
    searches agree. There are none, and `note` says why, with fewer than two searches, no configuration with two values,
    or a value that is not a number.

    Raises:
        ValueError: a winner without a value.
    """
    counts = Counter(winners)
    if lacking := [winner for winner in counts if not len(values.get(winner, ()))]:
        raise ValueError(f"each winner needs a test value, {lacking} have none")
    n = np.array(list(counts.values()), dtype=float)
    found = [np.asarray(values[winner], dtype=float) for winner in counts]
    m, df = np.array([len(one) for one in found]), sum(len(one) - 1 for one in found)
    none = SelectionVariance(None, None, None, len(winners), len(counts), df)
    if len(winners) < 2:
        return replace(none, note=f"{len(winners)} search: selection and seed need at least two")
    if df < 1:
        return replace(none, note="no configuration has two seeds")
    if not all(np.isfinite(one).all() for one in found):
        return replace(none, note="a test value is not a number")
    means = np.array([one.mean() for one in found])
    seed = sum(float(((one - one.mean()) ** 2).sum()) for one in found) / df
    apart = float((n * (means - (n * means).sum() / n.sum()) ** 2).sum())
    selection = (apart - seed * float(((1 - n / n.sum()) * n / m).sum())) / (n.sum() - 1)
    whole = max(0.0, selection) + seed
    share = max(0.0, selection) / whole if whole > 0 else None
    return replace(none, selection=float(selection), seed=seed, share=share)


def score_variance(scores: Mapping[Any, Mapping[int, float]]) -> ScoreVariance:
    """Return what a validation score varies by, from `scores` by configuration and split.

    y_cs = configuration_c + split_s + rest_cs, by two-way analysis of variance (Searle, Casella and McCulloch 1992, ch.
    4.7), from the mean squares M of C configurations and S splits:

        rest = M_rest,  split = (M_split − M_rest) / C,  configuration = (M_configuration − M_rest) / S

    all unbiased, so the last two may be negative. What a split adds to all configurations alike changes no selection;
    the rest does: it is training noise and that some configurations suit some subjects, which one training of each
    cannot tell apart. Configurations without a score on every split are left out, and `note` counts them.
    """
    splits = sorted({split for by_split in scores.values() for split in by_split})
    whole = [by_split for by_split in scores.values() if len(by_split) == len(splits)]
    y = np.array([[by_split[split] for split in splits] for by_split in whole], dtype=float)
    left = len(scores) - len(whole)
    note = f"{left} of {len(scores)} configurations lack a score on some split" if left else ""
    if len(whole) < 2 or len(splits) < 2 or not np.isfinite(y).all():
        why = "shares of the score need two configurations with a score on each of two splits"
        return ScoreVariance(None, None, None, len(whole), len(splits), join([why, note]))
    c, s = y.shape
    rows, columns = y.mean(axis=1, keepdims=True), y.mean(axis=0, keepdims=True)
    rest = float(((y - rows - columns + y.mean()) ** 2).sum()) / ((c - 1) * (s - 1))
    split = (c * float(columns.var(ddof=1)) - rest) / c
    configuration = (s * float(rows.var(ddof=1)) - rest) / s
    return ScoreVariance(configuration, split, rest, c, s, note)
