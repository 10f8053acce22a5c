"""Does AutoMargin match searches over continuous margins, and what does each cost? Only AdaTriplet.

Every search may spend as much as the paper's grid of 16 configurations: 16 × folds × epochs. The early-stopping one
spends it on more configurations: with half of them stopped after a quarter, and half of the rest after half of their
epochs, 50 take 0.94 to 1.04 of that in the presets quick, full and paper (`fmim plan` shows it). The real cost of a run
varies by about a sixth with the order in which trials reach a rung; the report counts it.
"""

from __future__ import annotations

from itertools import product

from fmim.declare import Arm, Study
from fmim.declare.presets import FULL, PAPER, QUICK, SMOKE
from fmim.runner.search.tpe import TPE
from fmim_spaces import spaces
from fmim_spaces.domain import Space
from fmim_spaces.searcher import Searcher
from fmim_spaces.searchers import Grid, Random
from fmim_spaces.successive_halving import ASHA

FIXED, AUTOMARGIN = "fixed", "automargin"
QUICK_ON_THREE_FOLDS = QUICK.model_copy(update={"folds": 3})
"""Of two folds, the one that screens is half of the cost, so that 50 configurations would take 1.17 of the grid's."""


def _arm(name: str, search: str, margins: str, space: Space, searcher: Searcher) -> Arm:
    settings = (("loss.kind", "adatriplet"), ("margins.kind", margins))
    return Arm(name=name, search=search, settings=settings, space=space, searcher=searcher)


STUDY = Study(
    name="automargin_vs_search",
    title="AutoMargin versus searches over margins",
    question="Is AutoMargin as good as grid, random, TPE and early-stopping searches of equal budget over ε and β?",
    presets=(SMOKE, QUICK_ON_THREE_FOLDS, FULL, PAPER),
    comparisons=tuple(product(("automargin", "automargin_k2"), ("grid", "random", "tpe", "asha"))),
    arms=(
        _arm("automargin", "AutoMargin", AUTOMARGIN, spaces.ADATRIPLET_AUTOMARGIN, Grid()),
        _arm("automargin_k2", "AutoMargin (K = 2)", AUTOMARGIN, spaces.ADATRIPLET_K2, Grid()),
        _arm("grid", "Grid search", FIXED, spaces.ADATRIPLET_GRID, Grid()),
        _arm("random", "Random search", FIXED, spaces.ADATRIPLET_MARGINS, Random(samples=16)),
        _arm("tpe", "TPE", FIXED, spaces.ADATRIPLET_MARGINS, TPE(samples=16, startup=6)),
        _arm("asha", "ASHA", FIXED, spaces.ADATRIPLET_MARGINS, ASHA(samples=50, reduction=2)),
    ),
)
