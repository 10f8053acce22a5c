"""Which hyperparameters does validation select for every method? Suppl. Table 1(b) of the paper."""

from __future__ import annotations

from search_spaces import spaces
from search_spaces.domain import Assignment, Space
from studies.declare import Arm, Study
from studies.presets import PRESETS

FIXED = ("margins.kind", "fixed")
AUTOMARGIN = ("margins.kind", "automargin")


def _arm(name: str, loss: str, search: str, kind: str, space: Space, *margins: Assignment) -> Arm:
    return Arm(name=name, loss=loss, search=search, settings=(("loss.kind", kind), *margins), space=space)


STUDY = Study(
    name="hyperparameter_selection",
    title="Hyperparameters selected by validation",
    question="Which of the paper's listed values does validation select for each method, and how much is at stake?",
    presets=PRESETS,
    arms=(
        _arm("sct_grid", "SCT", "Grid search", "sct", spaces.SCT_GRID),
        _arm("arcface_grid", "ArcFace", "Grid search", "arcface", spaces.ARCFACE_GRID),
        _arm("wat_grid", "WAT", "Grid search", "triplet", spaces.WAT_GRID, ("margins.kind", "wat")),
        _arm("softtriple_grid", "SoftTriple", "Grid search", "softtriple", spaces.SOFTTRIPLE_GRID),
        _arm("contrastive_grid", "Contrastive", "Grid search", "contrastive", spaces.CONTRASTIVE_GRID),
        _arm("triplet_grid", "Triplet", "Grid search", "triplet", spaces.TRIPLET_GRID, FIXED),
        _arm("triplet_automargin", "Triplet", "AutoMargin", "triplet", spaces.TRIPLET_AUTOMARGIN, AUTOMARGIN),
        _arm("adatriplet_grid", "AdaTriplet", "Grid search", "adatriplet", spaces.ADATRIPLET_GRID, FIXED),
        _arm(
            "adatriplet_automargin", "AdaTriplet", "AutoMargin", "adatriplet", spaces.ADATRIPLET_AUTOMARGIN, AUTOMARGIN
        ),
    ),
)
