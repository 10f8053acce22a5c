"""How much of the negative-pair term does AdaTriplet need? Table 1(a) of the paper."""

from __future__ import annotations

from fmim.declare import Arm, Study
from fmim_spaces import spaces

AUTOMARGIN = (("margins.kind", "automargin"), ("margins.k_delta", 2), ("margins.k_an", 2))

STUDY = Study(
    name="lambda_sweep",
    title="The weight λ of AdaTriplet's negative-pair term",
    question="Which λ is best for AdaTriplet with AutoMargin, especially for images many years apart?",
    baseline="lambda_0",
    arms=tuple(
        Arm(
            name=f"lambda_{value:g}".replace(".", "_"),
            search=f"λ = {value:g}",
            settings=(("loss.kind", "adatriplet"), *AUTOMARGIN),
            space=spaces.point(loss__lam=value),
        )
        for value in spaces.LAMBDA_VALUES
    ),
)
