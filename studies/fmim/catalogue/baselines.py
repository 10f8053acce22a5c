"""Seven losses, five seeds each, with the hyperparameters the paper selected on OAI. Fig. 4, Suppl. Tables 4 and 5.

Nothing is searched here: the values are those of Suppl. Table 1(b) for OAI, or those that hyperparameter_selection
selected on the same data, with `--selected runs/hyperparameter_selection`.
"""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim_spaces.domain import Assignment
from fmim_spaces.spaces import point

AUTOMARGIN = ("margins.kind", "automargin")
WAT = (("loss.selection", "all"), ("margins.kind", "wat"))


def _arm(name: str, origin: str, loss: str, *margins: Assignment, group: str = "", **values: float) -> Arm:
    settings = (("loss.kind", loss), *margins)
    return Arm(name=name, group=group, selected_from=origin, settings=settings, space=point(**values))


STUDY = Study(
    name="baselines",
    title="Seven losses by years after baseline",
    question="How well does each loss find a person again, and how much worse after more years?",
    search=False,
    comparisons=tuple(
        ("adatriplet", other) for other in ("softtriple", "arcface", "sct", "wat", "contrastive", "triplet")
    ),
    arms=(
        _arm("softtriple", "softtriple_grid", "softtriple", loss__margin=0.02),
        _arm("arcface", "arcface_grid", "arcface", loss__margin_degrees=14.3),
        _arm("sct", "sct_grid", "sct", loss__lam=1.0),
        _arm("wat", "wat_grid", "triplet", *WAT, group="WAT", margins__beta=0.1),
        _arm("contrastive", "contrastive_grid", "contrastive", loss__m_neg=0.75, loss__m_pos=0.5),
        _arm("triplet", "triplet_grid", "triplet", ("margins.kind", "fixed"), margins__epsilon=0.25),
        _arm("adatriplet", "adatriplet_automargin", "adatriplet", AUTOMARGIN, margins__k_delta=2, margins__k_an=2),
    ),
)
