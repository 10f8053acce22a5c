"""The margins of the first epoch, when a schedule has no statistics yet: named choices, none a value to tune."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Initial = Literal["measured", "released", "paper"]
"""How the first epoch's margins are found.

measured: by the schedule's own formula, from the statistics of one pass over the first epoch's batches in which nothing
is updated. It needs no value, and is the default for that reason.
released: ε = 0.25, β = 0, as in the configuration that the authors released.
paper: ε = 0, β = 0, as the paper's text and Fig. 3 have it. Semi-hard selection, 0 < Δ ≤ ε, then selects no triplet in
the whole first epoch, and later margins follow from a network that the triplet term has not trained.
"""

GIVEN: Mapping[Initial, tuple[float, float]] = {"measured": (0.0, 0.0), "released": (0.25, 0.0), "paper": (0.0, 0.0)}
"""ε and β of each choice; those of `measured` hold until the pass is done."""
