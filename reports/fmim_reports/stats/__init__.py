"""The statistics of the reports, as pure functions that return small dataclasses.

A replicate is a seed or a fold. Wherever replicates matter, values are keyed by them, so that a row written
twice is not counted twice and two arms are compared seed by seed. What cannot be computed is None, and `note` says
why; a value that is not a number stays visible.
"""

from fmim_reports.stats.crossed import Crossed, against_itself, crossed_difference, crossed_mean
from fmim_reports.stats.differences import (
    UNKNOWN,
    Equivalence,
    Holm,
    PairedDifference,
    Uncertainty,
    equivalence,
    holm,
    paired_difference,
    smallest_margins,
    superiority,
    unpaired_difference,
    welch,
)
from fmim_reports.stats.fanova import Importance, importance
from fmim_reports.stats.mean_squares import Variances
from fmim_reports.stats.power import ENOUGH_POWER, Needed, Power, power_of
from fmim_reports.stats.replicates import Bounded, MeanSE, mean_se
from fmim_reports.stats.search import ExpectedBest, area_under, best_so_far, cost_ratio, expected_best
from fmim_reports.stats.settings import OverSettings, mean_over_settings

__all__ = [
    "ENOUGH_POWER", "UNKNOWN", "Crossed", "Equivalence", "ExpectedBest", "Holm", "Importance", "Bounded", "MeanSE",
    "Needed", "OverSettings", "PairedDifference", "Power", "Uncertainty", "Variances", "against_itself", "area_under",
    "best_so_far", "cost_ratio", "crossed_difference", "crossed_mean", "equivalence", "expected_best", "holm",
    "importance", "mean_over_settings", "mean_se", "paired_difference", "power_of",
    "smallest_margins", "superiority", "unpaired_difference", "welch",
]  # fmt: skip
