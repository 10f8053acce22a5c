"""Your own study: is a smooth triplet loss as good as a grid-searched triplet loss?

    fmim run my_study.py --preset smoke

Change the loss or the arms; nothing else is needed. The study keeps a copy of this file.
"""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat
from torch.nn.functional import softplus

from fmim import Arm, Choice, Space, Study
from fmim.kinds import LOSSES, LossOutput, Margins, Similarities, WeightlessLoss, mean_over_triplets


@LOSSES.register
class SmoothTriplet(WeightlessLoss):
    """L = mean over all triplets of τ log(1 + exp((φ_an − φ_ap + ε)/τ))."""

    kind: Literal["smooth_triplet"] = "smooth_triplet"
    tau: PositiveFloat = 0.1

    def formula(self, batch: Similarities, margins: Margins) -> LossOutput:
        """Return the loss of a batch of unit embeddings; `batch.delta` is φ_ap − φ_an, and every triplet is active."""
        terms = self.tau * softplus((margins.triplet_margin(batch.delta) - batch.delta) / self.tau)
        return LossOutput(mean_over_triplets(terms, batch.index), batch.index.valid.sum())


BASELINE = Arm(
    name="triplet_grid",
    search="Grid search",
    settings={"loss": {"kind": "triplet"}, "margins": {"kind": "fixed"}},
    space=Space(choices=(Choice(path="margins.epsilon", values=(0.1, 0.25, 0.5, 0.75)),)),
)
MINE = Arm(
    name="smooth",
    search="Two temperatures",
    settings={"loss": {"kind": "smooth_triplet"}, "margins": {"kind": "fixed", "epsilon": 0.25}},
    space=Space(choices=(Choice(path="loss.tau", values=(0.05, 0.1)),)),
)
STUDY = Study(
    name="my_study",
    title="A smooth triplet loss",
    question="Is it as good as a grid-searched triplet loss?",
    arms=(BASELINE, MINE),
    baseline="triplet_grid",
)
