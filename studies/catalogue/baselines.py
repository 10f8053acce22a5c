"""Seven losses, five seeds each, with the hyperparameters the paper selected on OAI. Fig. 4, Suppl. Tables 4 and 5.

Nothing is searched here: the values are Suppl. Table 1(b)'s for OAI (`hyperparameter_selection` selects one's own).
"""

from __future__ import annotations

from search_spaces.spaces import point
from studies.declare import Arm, Study
from studies.presets import PRESETS

STUDY = Study(
    name="baselines",
    title="Seven losses by years after baseline",
    question="How well does each loss find a person again, and how does that fall with the years in between?",
    presets=PRESETS,
    search=False,
    arms=(
        Arm(
            name="softtriple",
            loss="SoftTriple",
            settings=(("loss.kind", "softtriple"),),
            space=point(loss__margin=0.02),
        ),
        Arm(
            name="arcface",
            loss="ArcFace",
            settings=(("loss.kind", "arcface"),),
            space=point(loss__margin_degrees=14.3),
        ),
        Arm(name="sct", loss="SCT", settings=(("loss.kind", "sct"),), space=point(loss__lam=1.0)),
        Arm(
            name="wat",
            loss="WAT",
            settings=(("loss.kind", "triplet"), ("margins.kind", "wat")),
            space=point(margins__beta=0.1),
        ),
        Arm(
            name="contrastive",
            loss="Contrastive",
            settings=(("loss.kind", "contrastive"),),
            space=point(loss__m_neg=0.75, loss__m_pos=0.5),
        ),
        Arm(
            name="triplet",
            loss="Triplet",
            settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
            space=point(margins__epsilon=0.25),
        ),
        Arm(
            name="adatriplet",
            loss="AdaTriplet",
            settings=(("loss.kind", "adatriplet"), ("margins.kind", "automargin")),
            space=point(margins__k_delta=2, margins__k_an=2),
        ),
    ),
)
