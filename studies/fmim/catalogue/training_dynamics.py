"""What AutoMargin does during training: margins, loss, distributions of Δ and φ_an. Figs. 1(b, c), 2(b, c), 3."""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim.declare.study import Surface
from fmim_spaces.domain import Assignment
from fmim_spaces.spaces import point

HISTOGRAMS: Assignment = ("histogram_bins", 80)


def _arm(loss: str, margins: str, search: str, **values: float) -> Arm:
    settings = (("loss.kind", loss), ("margins.kind", margins), HISTOGRAMS)
    return Arm(name=f"{loss}_{margins}", search=search, settings=settings, space=point(**values))


STUDY = Study(
    name="training_dynamics",
    title="Margins, loss and similarities during training",
    question="How do ε(t), β(t), the loss and the distributions of Δ and φ_an develop with and without AutoMargin?",
    search=False,
    surfaces=(
        Surface(label="Triplet", settings=(("loss.kind", "triplet"),), epsilon=0.25),
        Surface(label="AdaTriplet", settings=(("loss.kind", "adatriplet"), ("loss.lam", 1.0)), epsilon=0.25, beta=0.1),
    ),
    arms=(
        _arm("adatriplet", "automargin", "AutoMargin", margins__k_delta=2, margins__k_an=2),
        _arm("triplet", "automargin", "AutoMargin", margins__k_delta=2),
        _arm("triplet", "fixed", "Fixed margin", margins__epsilon=0.25),
    ),
)
