"""Does AutoMargin match an exhaustive grid search over margins, and what does each search cost?

The arms are the rows of the paper's Tables 1(b) and 1(c); the grid and AutoMargin arms give Suppl. Table 3. As in the
paper, AutoMargin chooses between K = 2 and 4 (N_s = 2 and 4). A further arm has K = 2 given and searches nothing
(N_s = 1). The paper's other claims are compared as well: AutoMargin against Q2 and WAT, and AdaTriplet
against Triplet.
"""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim_spaces import spaces
from fmim_spaces.domain import Assignment, Space

TRIPLET, ADATRIPLET = ("loss.kind", "triplet"), ("loss.kind", "adatriplet")
FIXED, AUTOMARGIN, QUARTILE = ("margins.kind", "fixed"), ("margins.kind", "automargin"), ("margins.kind", "quartile")
Q1, Q2 = (QUARTILE, ("margins.quartile", 1)), (QUARTILE, ("margins.quartile", 2))
WAT = (("loss.selection", "all"), ("margins.kind", "wat"))
NO_SEARCH = "AutoMargin without search"


def _arm(name: str, search: str, *settings: Assignment, space: Space = spaces.NOTHING) -> Arm:
    return Arm(name=name, search=search, settings=settings, space=space)


STUDY = Study(
    name="automargin_vs_grid",
    title="AutoMargin versus grid search over margins",
    question="Is AutoMargin as good as an exhaustive grid search over margins, and what does each search cost?",
    comparisons=(
        ("triplet_automargin", "triplet_grid"),
        ("triplet_automargin_k2", "triplet_grid"),
        ("adatriplet_automargin", "adatriplet_grid"),
        ("adatriplet_automargin_k2", "adatriplet_grid"),
    ),
    claims=(
        ("triplet_automargin", "triplet_q2"),
        ("triplet_automargin", "triplet_wat"),
        ("adatriplet_automargin", "adatriplet_q2"),
        ("adatriplet_grid", "triplet_grid"),
        ("adatriplet_automargin", "triplet_automargin"),
    ),
    arms=(
        _arm("triplet_q1", "Q1", TRIPLET, *Q1),
        _arm("triplet_q2", "Q2", TRIPLET, *Q2),
        _arm("triplet_wat", "WAT", TRIPLET, *WAT, space=spaces.WAT_GRID),
        _arm("triplet_grid", "Grid search", TRIPLET, FIXED, space=spaces.TRIPLET_GRID),
        _arm("triplet_automargin", "AutoMargin", TRIPLET, AUTOMARGIN, space=spaces.TRIPLET_AUTOMARGIN),
        _arm("triplet_automargin_k2", NO_SEARCH, TRIPLET, AUTOMARGIN, space=spaces.TRIPLET_K2),
        _arm("adatriplet_q1", "Q1", ADATRIPLET, *Q1),
        _arm("adatriplet_q2", "Q2", ADATRIPLET, *Q2),
        _arm("adatriplet_grid", "Grid search", ADATRIPLET, FIXED, space=spaces.ADATRIPLET_GRID),
        _arm("adatriplet_automargin", "AutoMargin", ADATRIPLET, AUTOMARGIN, space=spaces.ADATRIPLET_AUTOMARGIN),
        _arm("adatriplet_automargin_k2", NO_SEARCH, ADATRIPLET, AUTOMARGIN, space=spaces.ADATRIPLET_K2),
    ),
)
