"""The statistics of the reports, as pure functions that return small dataclasses.

A replicate is a seed or a fold. Wherever replicates matter, values are keyed by them, so that a row written
twice is not counted twice and two arms are compared seed by seed. What cannot be computed is None, and `note` says
why; a value that is not a number stays visible.
"""

from fmim_reports.stats.budget import BestSoFar, ExpectedBest, area_under, best_so_far, expected_best
from fmim_reports.stats.crossed import Crossed, Uncertainty, Variances, crossed_difference, crossed_mean
from fmim_reports.stats.differences import (
    Equivalence,
    Holm,
    PairedDifference,
    UnpairedDifference,
    equivalence,
    holm,
    paired_difference,
    unpaired_difference,
)
from fmim_reports.stats.effects import EffectSize, Superiority, effect_size, superiority
from fmim_reports.stats.means import (
    FOLD_LABELS,
    FoldAverages,
    MeanSE,
    Values,
    averages_over_folds,
    by_replicate,
    mean_se,
)
from fmim_reports.stats.pipelines import ScoreVariance, SelectionVariance, score_variance, selection_variance
from fmim_reports.stats.power import ENOUGH, Power, power_of, smallest_difference
from fmim_reports.stats.ratios import CostRatio, cost_ratio
from fmim_reports.stats.selection import Optimism, optimism

__all__ = [
    "ENOUGH",
    "FOLD_LABELS",
    "BestSoFar",
    "CostRatio",
    "Crossed",
    "EffectSize",
    "Equivalence",
    "ExpectedBest",
    "FoldAverages",
    "Holm",
    "MeanSE",
    "Optimism",
    "PairedDifference",
    "Power",
    "ScoreVariance",
    "SelectionVariance",
    "Superiority",
    "Uncertainty",
    "UnpairedDifference",
    "Values",
    "Variances",
    "area_under",
    "averages_over_folds",
    "best_so_far",
    "by_replicate",
    "cost_ratio",
    "crossed_difference",
    "crossed_mean",
    "effect_size",
    "equivalence",
    "expected_best",
    "holm",
    "mean_se",
    "optimism",
    "paired_difference",
    "power_of",
    "score_variance",
    "selection_variance",
    "smallest_difference",
    "superiority",
    "unpaired_difference",
]
