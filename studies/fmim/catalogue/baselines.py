"""Seven losses, five seeds each, with the hyperparameters the paper selected on OAI. Fig. 4, Suppl. Tables 4 and 5.

Nothing is searched here: the values are Suppl. Table 1(b)'s for OAI, or those that hyperparameter_selection has
selected on the same data, with `--selected runs/hyperparameter_selection`.
"""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim.declare.presets import PRESETS
from fmim_spaces.spaces import point

STUDY = Study(
    name="baselines",
    title="Seven losses by years after baseline",
    question="How well does each loss find a person again, and how does that fall with the years in between?",
    presets=PRESETS,
    search=False,
    comparisons=tuple(
        ("adatriplet", other) for other in ("softtriple", "arcface", "sct", "wat", "contrastive", "triplet")
    ),
    arms=(
        Arm(
            name="softtriple",
            selected_from="softtriple_grid",
            settings=(("loss.kind", "softtriple"),),
            space=point(loss__margin=0.02),
        ),
        Arm(
            name="arcface",
            selected_from="arcface_grid",
            settings=(("loss.kind", "arcface"),),
            space=point(loss__margin_degrees=14.3),
        ),
        Arm(
            name="sct",
            selected_from="sct_grid",
            settings=(("loss.kind", "sct"),),
            space=point(loss__lam=1.0),
        ),
        Arm(
            name="wat",
            selected_from="wat_grid",
            group="WAT",
            settings=(("loss.kind", "triplet"), ("loss.selection", "all"), ("margins.kind", "wat")),
            space=point(margins__beta=0.1),
        ),
        Arm(
            name="contrastive",
            selected_from="contrastive_grid",
            settings=(("loss.kind", "contrastive"),),
            space=point(loss__m_neg=0.75, loss__m_pos=0.5),
        ),
        Arm(
            name="triplet",
            selected_from="triplet_grid",
            settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
            space=point(margins__epsilon=0.25),
        ),
        Arm(
            name="adatriplet",
            selected_from="adatriplet_automargin",
            settings=(("loss.kind", "adatriplet"), ("margins.kind", "automargin")),
            space=point(margins__k_delta=2, margins__k_an=2),
        ),
    ),
)
