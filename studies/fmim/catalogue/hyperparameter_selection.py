"""Which hyperparameters does validation select for every method? Suppl. Table 1(b) of the paper."""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim_spaces import spaces
from fmim_spaces.domain import Assignment, Space

FIXED = ("margins.kind", "fixed")
AUTOMARGIN = ("margins.kind", "automargin")
WAT = (("loss.selection", "all"), ("margins.kind", "wat"))


def _arm(name: str, kind: str, search: str, space: Space, *margins: Assignment, group: str = "") -> Arm:
    return Arm(name=name, group=group, search=search, settings=(("loss.kind", kind), *margins), space=space)


STUDY = Study(
    name="hyperparameter_selection",
    title="Hyperparameters selected by validation",
    question="Which of the paper's values does validation select for each method, and how much does the choice matter?",
    arms=(
        _arm("sct_grid", "sct", "Grid search", spaces.SCT_GRID),
        _arm("arcface_grid", "arcface", "Grid search", spaces.ARCFACE_GRID),
        _arm("wat_grid", "triplet", "Grid search", spaces.WAT_GRID, *WAT, group="WAT"),
        _arm("softtriple_grid", "softtriple", "Grid search", spaces.SOFTTRIPLE_GRID),
        _arm("contrastive_grid", "contrastive", "Grid search", spaces.CONTRASTIVE_GRID),
        _arm("triplet_grid", "triplet", "Grid search", spaces.TRIPLET_GRID, FIXED),
        _arm("triplet_automargin", "triplet", "AutoMargin", spaces.TRIPLET_AUTOMARGIN, AUTOMARGIN),
        _arm("adatriplet_grid", "adatriplet", "Grid search", spaces.ADATRIPLET_GRID, FIXED),
        _arm("adatriplet_automargin", "adatriplet", "AutoMargin", spaces.ADATRIPLET_AUTOMARGIN, AUTOMARGIN),
    ),
)
