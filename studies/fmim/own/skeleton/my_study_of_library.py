"""Your own study: is MultiSimilarityLoss of pytorch-metric-learning as good as a grid-searched triplet loss?

    fmim run my_study.py --preset smoke

Change the arms and what they search; parameters that are not given have the library's defaults.
"""

from fmim import Arm, Choice, Space, Study

CHOICES = (
    Choice(path="loss.params.alpha", values=(1, 2, 4)),
    Choice(path="loss.params.beta", values=(25, 50, 100)),
)
BASELINE = Arm(
    name="triplet_grid",
    search="Grid search",
    settings={"loss": {"kind": "triplet"}, "margins": {"kind": "fixed"}},
    space=Space(choices=(Choice(path="margins.epsilon", values=(0.1, 0.25, 0.5, 0.75)),)),
)
MINE = Arm(
    name="mine",
    search="Grid search" if CHOICES else None,
    settings={"loss": {"kind": "pml", "name": "MultiSimilarityLoss"}},
    space=Space(choices=CHOICES),
)
STUDY = Study(
    name="my_study",
    title="MultiSimilarityLoss",
    question="Is it as good as a grid-searched triplet loss?",
    arms=(BASELINE, MINE),
    baseline="triplet_grid",
)
