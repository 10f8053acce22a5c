"""Does AutoMargin match an exhaustive grid search over margins, and what does each search cost?

The arms are the rows of the paper's Tables 1(b) and 1(c); the grid and AutoMargin arms give Suppl. Table 3. As the
paper runs it AutoMargin chooses between K = 2 and 4 (N_s = 2 and 4); with K = 2 given it searches nothing (N_s = 1),
which is an arm of its own.
"""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim.declare.presets import PRESETS
from fmim_spaces import spaces

TRIPLET = ("loss.kind", "triplet")
ADATRIPLET = ("loss.kind", "adatriplet")
FIXED = ("margins.kind", "fixed")
AUTOMARGIN = ("margins.kind", "automargin")
QUARTILE = ("margins.kind", "quartile")
Q1 = (QUARTILE, ("margins.quartile", 1))
NO_SEARCH = "AutoMargin without search"
Q2 = (QUARTILE, ("margins.quartile", 2))

STUDY = Study(
    name="automargin_vs_grid",
    title="AutoMargin versus grid search over margins",
    question="Is AutoMargin as good as an exhaustive grid search over margins, and what does each search cost?",
    presets=PRESETS,
    comparisons=(
        ("triplet_automargin", "triplet_grid"),
        ("triplet_automargin_k2", "triplet_grid"),
        ("adatriplet_automargin", "adatriplet_grid"),
        ("adatriplet_automargin_k2", "adatriplet_grid"),
    ),
    arms=(
        Arm(name="triplet_q1", search="Q1", settings=(TRIPLET, *Q1)),
        Arm(name="triplet_q2", search="Q2", settings=(TRIPLET, *Q2)),
        Arm(
            name="triplet_wat",
            search="WAT",
            settings=(TRIPLET, ("loss.selection", "all"), ("margins.kind", "wat")),
            space=spaces.WAT_GRID,
        ),
        Arm(
            name="triplet_grid",
            search="Grid search",
            settings=(TRIPLET, FIXED),
            space=spaces.TRIPLET_GRID,
        ),
        Arm(
            name="triplet_automargin",
            search="AutoMargin",
            settings=(TRIPLET, AUTOMARGIN),
            space=spaces.TRIPLET_AUTOMARGIN,
        ),
        Arm(
            name="triplet_automargin_k2",
            search=NO_SEARCH,
            settings=(TRIPLET, AUTOMARGIN),
            space=spaces.TRIPLET_K2,
        ),
        Arm(name="adatriplet_q1", search="Q1", settings=(ADATRIPLET, *Q1)),
        Arm(name="adatriplet_q2", search="Q2", settings=(ADATRIPLET, *Q2)),
        Arm(
            name="adatriplet_grid",
            search="Grid search",
            settings=(ADATRIPLET, FIXED),
            space=spaces.ADATRIPLET_GRID,
        ),
        Arm(
            name="adatriplet_automargin",
            search="AutoMargin",
            settings=(ADATRIPLET, AUTOMARGIN),
            space=spaces.ADATRIPLET_AUTOMARGIN,
        ),
        Arm(
            name="adatriplet_automargin_k2",
            search=NO_SEARCH,
            settings=(ADATRIPLET, AUTOMARGIN),
            space=spaces.ADATRIPLET_K2,
        ),
    ),
)
