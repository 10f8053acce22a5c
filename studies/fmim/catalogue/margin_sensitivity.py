"""How sensitive is the triplet loss to its margin? Fig. 2(a) of the paper."""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim_spaces import spaces

STUDY = Study(
    name="margin_sensitivity",
    title="The triplet loss's sensitivity to its margin ε",
    question="How does mAP change with ε from 0 to 1.3, and where does training break down?",
    arms=(
        Arm(
            name="triplet_epsilon",
            search="ε from 0 to 1.3",
            settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
            space=spaces.EPSILON_SENSITIVITY,
        ),
    ),
)
