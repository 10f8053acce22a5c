"""The base classes and building blocks for your own loss, optimizer, backbone or other kind; and the registries.

This imports torch.
"""

from fmim_core.augmentations.base import AUGMENTATIONS, Augmentation
from fmim_core.data.sets.base import DATA_SETS, DataSet, Listing, check_index
from fmim_core.data.source import SourceDescription
from fmim_core.data.tables.findings import Findings
from fmim_core.losses.base import (
    LOSSES,
    LibraryLoss,
    Loss,
    LossModule,
    LossOutput,
    WeightlessLoss,
    mean_over_triplets,
    no_triplets,
)
from fmim_core.losses.pml import PML
from fmim_core.losses.triplet import Averaging, MeanHinge, TripletSelection, triplet_term
from fmim_core.margins.base import MARGINS, Epsilon, MarginConfig, Margins, MarginSchedule, check_beta
from fmim_core.models.base import BACKBONES, Backbone
from fmim_core.optimizers.base import LR_SCHEDULES, OPTIMIZERS, LRSchedule, Optimizer
from fmim_core.training.own import TrainImages
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit
from fmim_core.triplets.statistics import EpochStatistics

__all__ = [
    "AUGMENTATIONS", "BACKBONES", "DATA_SETS", "LOSSES", "LR_SCHEDULES", "MARGINS", "OPTIMIZERS", "PML",
    "Augmentation", "Averaging", "Backbone", "DataSet", "EpochStatistics", "Epsilon", "Findings", "LRSchedule",
    "LibraryLoss", "Listing", "Loss", "LossModule", "LossOutput", "MarginConfig", "MarginSchedule", "Margins",
    "MeanHinge", "Optimizer", "Similarities", "SourceDescription", "TrainImages", "TripletIndex",
    "TripletSelection", "WeightlessLoss", "check_beta", "check_index", "mean_over_triplets", "no_triplets",
    "triplet_term", "unit",
]  # fmt: skip
