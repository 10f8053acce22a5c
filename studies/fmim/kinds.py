"""The bases from which a loss, a margin schedule, a backbone and a data set of one's own derive, and their registries.

This imports torch.
"""

from fmim_core.data.sets.base import DATA_SETS, DataSet, Listing, check_index
from fmim_core.data.source import SourceDescription
from fmim_core.data.tables.findings import Findings
from fmim_core.losses.base import LOSSES, Loss, LossModule, LossOutput, mean_over_triplets
from fmim_core.margins.base import MARGINS, Epsilon, MarginConfig, Margins, MarginSchedule, check_beta
from fmim_core.models.base import BACKBONES, Backbone
from fmim_core.triplets.similarities import Similarities, unit
from fmim_core.triplets.statistics import EpochStatistics

__all__ = [
    "BACKBONES",
    "DATA_SETS",
    "LOSSES",
    "MARGINS",
    "Backbone",
    "DataSet",
    "EpochStatistics",
    "Epsilon",
    "Findings",
    "Listing",
    "Loss",
    "LossModule",
    "LossOutput",
    "MarginConfig",
    "MarginSchedule",
    "Margins",
    "Similarities",
    "SourceDescription",
    "check_beta",
    "check_index",
    "mean_over_triplets",
    "unit",
]
