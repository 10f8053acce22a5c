"""What the paper leaves open about AutoMargin: each arm changes one setting of the first. K = 2, without search."""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim_spaces.domain import Assignment
from fmim_spaces.spaces import point

AUTOMARGIN = (("loss.kind", "adatriplet"), ("margins.kind", "automargin"))


def _arm(name: str, change: str, *settings: Assignment) -> Arm:
    space = point(margins__k_delta=2, margins__k_an=2)
    return Arm(name=name, search=change, settings=(*AUTOMARGIN, *settings), space=space)


STUDY = Study(
    name="automargin_ablation",
    title="What the paper leaves open about AutoMargin",
    question="Which unstated settings of AutoMargin change the result, and by how much?",
    search=False,
    baseline="reference",
    arms=(
        _arm("reference", "the default"),
        _arm("selection_all", "all triplets", ("loss.selection", "all")),
        _arm("averaging_all", "average over all terms", ("loss.averaging", "all")),
        _arm("pairs_per_triplet", "negative pairs per triplet", ("loss.negative_pairs", "per_triplet")),
        _arm("update_batch", "margins every batch", ("margins.update", "batch")),
        _arm("update_average", "moving average of margins", ("margins.update", "average")),
        _arm("statistic_median", "median", ("margins.statistic", "median")),
        _arm("initial_released", "initial margins as released", ("margins.initial", "released")),
        _arm("initial_paper", "initial margins as in the paper", ("margins.initial", "paper")),
        _arm("identity_side", "each knee its own identity", ("identity", "side")),
    ),
)
