"""How the difference of two arms is assumed to vary before a run has shown it, for the power that a plan tells."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveInt

from fmim_core.config import Config


class Spread(Config):
    """How the difference of two arms in the test metric varies, a fraction (0.01 is 1 point).

    Args:
        seeds: standard deviation between seeds, on one test set.
        subjects: SE that the choice of so many `test_subjects` leaves, however many seeds there are.
        source: what it was measured on.
    """

    seeds: Annotated[float, Field(gt=0)]
    subjects: Annotated[float, Field(ge=0)]
    test_subjects: Annotated[PositiveInt, Field(ge=2)]
    source: str


ASSUMED = {
    "quick": Spread(
        seeds=0.027,
        subjects=0.004,
        test_subjects=50,
        source="AdaTriplet with AutoMargin against grid search on the quick phantom, mAP, ten seeds",
    )
}
"""By the name of a preset. Where there is none, nothing is assumed: another network and other images vary otherwise."""
