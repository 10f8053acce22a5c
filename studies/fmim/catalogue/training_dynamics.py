"""What AutoMargin does during training: margins, loss, distributions of Δ and φ_an. Figs. 1(b, c), 2(b, c), 3."""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim.declare.study import Surface
from fmim_spaces.domain import Assignment
from fmim_spaces.spaces import point

HISTOGRAMS: Assignment = ("histogram_bins", 80)

STUDY = Study(
    name="training_dynamics",
    title="Margins, loss and similarities during training",
    question="How do ε(t), β(t), the loss and the distributions of Δ and φ_an develop, with AutoMargin and without?",
    search=False,
    surfaces=(
        Surface(label="Triplet", settings=(("loss.kind", "triplet"),), epsilon=0.25),
        Surface(
            label="AdaTriplet",
            settings=(("loss.kind", "adatriplet"), ("loss.lam", 1.0)),
            epsilon=0.25,
            beta=0.1,
        ),
    ),
    arms=(
        Arm(
            name="adatriplet_automargin",
            search="AutoMargin",
            settings=(("loss.kind", "adatriplet"), ("margins.kind", "automargin"), HISTOGRAMS),
            space=point(margins__k_delta=2, margins__k_an=2),
        ),
        Arm(
            name="triplet_automargin",
            search="AutoMargin",
            settings=(("loss.kind", "triplet"), ("margins.kind", "automargin"), HISTOGRAMS),
            space=point(margins__k_delta=2),
        ),
        Arm(
            name="triplet_fixed",
            search="Fixed margin",
            settings=(("loss.kind", "triplet"), ("margins.kind", "fixed"), HISTOGRAMS),
            space=point(margins__epsilon=0.25),
        ),
    ),
)
