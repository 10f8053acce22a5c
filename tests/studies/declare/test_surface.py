"""A surface names its loss by settings, which are checked when the study is planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fmim.declare.study import Surface
from fmim.plan.checks import check_trainings
from fmim_core.data.bank.bank import Bank
from fmim_spaces.domain import Assignment
from tests.support.mini_study import MINI_STUDY, mini_plan


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            (("loss.kind", "arcface"),),
            "'arcface' found using 'kind' does not match",
        ),
        (
            (("loss.kind", "triplet"), ("loss.lam", 1.0)),
            r"'Surface': loss.triplet: unknown field 'lam'; Triplet has kind",
        ),
        ((("loss.kind", "triplet"), ("margins.epsilon", 0.5)), r"unknown field 'margins'; SurfaceConfig has loss"),
        ((), "loss: is missing"),
    ],
)
def test_a_surface_of_no_such_loss_is_refused(settings: tuple[Assignment, ...], message: str, tiny_bank: Bank) -> None:
    surface = Surface(label="Surface", settings=settings, epsilon=0.25)
    plan = replace(mini_plan(), study=MINI_STUDY.model_copy(update={"surfaces": (surface,)}))
    with pytest.raises(ValueError, match=message):
        check_trainings(plan, tiny_bank.development())
