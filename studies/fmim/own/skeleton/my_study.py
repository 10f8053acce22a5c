"""A study of one's own: does a smooth triplet loss with a growing margin beat a grid-searched triplet loss?

    fmim run my_study.py --preset smoke

Change the loss, the schedule or the arms; this file is all that there is. Its text is part of what the study records.
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import PositiveFloat, PositiveInt
from torch.nn.functional import softplus

from fmim import PRESETS, Arm, Choice, Space, Study
from fmim.kinds import (
    LOSSES,
    MARGINS,
    EpochStatistics,
    Epsilon,
    Loss,
    LossModule,
    LossOutput,
    MarginConfig,
    Margins,
    MarginSchedule,
    Similarities,
    check_beta,
    mean_over_triplets,
)


@LOSSES.register
class SmoothTriplet(Loss):
    """L = mean over all triplets of τ log(1 + exp((φ_an − φ_ap + ε)/τ))."""

    kind: Literal["smooth_triplet"] = "smooth_triplet"
    tau: PositiveFloat = 0.1

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        """Return the module; `embedding_dim` and `classes` are for losses with weights of their own."""
        return SmoothTripletLoss(self.tau)


class SmoothTripletLoss(LossModule):
    """See `SmoothTriplet`."""

    def __init__(self, tau: float) -> None:
        super().__init__()
        self._tau = tau

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        """Return the loss of a batch of unit embeddings; `batch.delta` is φ_ap − φ_an, and every triplet is active."""
        terms = self._tau * softplus((margins.triplet_margin(batch.delta) - batch.delta) / self._tau)
        return LossOutput(mean_over_triplets(terms, batch.index), batch.index.valid.sum())


@MARGINS.register
class HalfCosine(MarginConfig):
    """ε = peak (1 − cos(π t/T))/2 after t of T epochs, and `peak` from then on."""

    kind: Literal["half_cosine"] = "half_cosine"
    peak: Epsilon = 0.25
    epochs: PositiveInt = 10

    def check(self, uses_beta: bool) -> None:
        """Refuse a loss that uses one."""
        check_beta("beta", None, uses_beta)

    def build(self) -> MarginSchedule:
        """Return the schedule at the start of a training."""
        return HalfCosineSchedule(self)


class HalfCosineSchedule(MarginSchedule):
    """See `HalfCosine`."""

    def __init__(self, config: HalfCosine) -> None:
        super().__init__(Margins(0.0))
        self._config = config

    def observe(self, epoch: int, statistics: EpochStatistics) -> None:
        """Set the next epoch's margin; `statistics` has the means of Δ and φ_an over this epoch."""
        done = min(1.0, epoch / self._config.epochs)
        self.margins = Margins(self._config.peak * (1 - math.cos(math.pi * done)) / 2)


BASELINE = Arm(
    name="triplet_grid",
    search="Grid search",
    settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
    space=Space(choices=(Choice(path="margins.epsilon", values=(0.1, 0.25, 0.5, 0.75)),)),
)
MINE = Arm(
    name="smooth",
    search="Growing margin",
    settings=(("loss.kind", "smooth_triplet"), ("margins.kind", "half_cosine")),
    space=Space(choices=(Choice(path="loss.tau", values=(0.05, 0.1)),)),
)
STUDY = Study(
    name="my_study",
    title="A smooth triplet loss with a growing margin",
    question="Is it as good as a grid-searched triplet loss?",
    presets=PRESETS,
    arms=(BASELINE, MINE),
    baseline="triplet_grid",
)
