"""A study that has many trials of the small one under other names."""

from __future__ import annotations

import fmim
from fmim.declare import Study
from fmim.plan import Plan
from tests.support.mini_study import MINI, MINI_STUDY

# The small study's arms under other names, the grid with one value more, in another order.
AUTOMARGIN, GRID = (arm.model_copy(update={"name": f"other_{arm.loss_kind}"}) for arm in MINI_STUDY.arms)
GRID = GRID.model_copy(
    update={"space": fmim.Space(choices=(fmim.Choice(path="margins.epsilon", values=(1.0, 0.5, 0.25)),))}
)
OTHER = Study(name="other", title="Another study", question="Is it reused?", presets=(MINI,), arms=(GRID, AUTOMARGIN))
SHARED = {"search": 2 * 2 + 2, "replicate": 2, "reference": 4}
"""Of `OTHER`, if a replicate of the grid's winner is not among those of the small study."""


def other_plan() -> Plan:
    """Its plan, with the seed and the replicates of the small one."""
    return Plan(OTHER, MINI, seed=0, replicates=2)
