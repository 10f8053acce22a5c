"""Which references stand beside a study's arms, and when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from fmim.declare import Arm, Study
from fmim.plan import Plan
from fmim.runner.backends.backend import Inline
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim_core.data.bank.bank import Bank
from fmim_core.records import read_records
from fmim_core.references.base import REFERENCES
from fmim_core.references.pixels import Pixels
from fmim_core.training.evaluation import Evaluator
from fmim_spaces.domain import Choice, Space
from tests.support.mini_study import MINI, mini_plan, with_epochs
from tests.support.own_files import register_for_a_test
from tests.support.simulation import Simulation

TRIPLET = (("loss.kind", "triplet"), ("margins.kind", "fixed"), ("margins.epsilon", 0.25))


def arm(name: str, *settings: tuple[str, object], group: str = "", space: Space | None = None) -> Arm:
    return Arm(name=name, group=group, search=name, settings=(*TRIPLET, *settings), space=space or Space())


def planned(*arms: Arm, replicates: int = 3, search: bool = False) -> list[tuple[str, str, list[str], int]]:
    """Name, label, arms and replicates of each reference."""
    study = Study(name="own", title="Own", question="Which?", presets=(MINI,), arms=arms, search=search)
    entries = [one.entry for one in Plan(study, MINI, 0, replicates).references]
    return [(entry.name, entry.label, entry.arms, entry.replicates) for entry in entries]


def test_arms_that_differ_in_their_method_share_one_of_each_kind() -> None:
    assert planned(arm("a"), arm("b", ("loss.kind", "adatriplet"), ("margins.beta", 0.5))) == [
        ("reference.pixels", "Raw pixels", ["a", "b"], 1),
        ("reference.pixels_less_mean", "Pixels less the mean image", ["a", "b"], 1),
        ("reference.untrained_network", "Untrained network", ["a", "b"], 3),
    ]


def test_arms_that_differ_in_what_a_reference_depends_on_have_their_own() -> None:
    found = planned(
        arm("a", group="Small"), arm("b", group="Small"), arm("c", ("model.kind", "resnet18"), group="ResNet-18")
    )
    assert [entry[:3] for entry in found] == [
        ("reference.pixels", "Raw pixels", ["a", "b", "c"]),
        ("reference.pixels_less_mean", "Pixels less the mean image", ["a", "b", "c"]),
        ("reference.untrained_network.1", "Untrained network (Small)", ["a", "b"]),
        ("reference.untrained_network.2", "Untrained network (ResNet-18)", ["c"]),
    ]
    labels = [label for _, label, _, _ in planned(arm("a"), arm("b", ("identity", "side")))]
    assert labels[:2] == ["Raw pixels (Triplet + a)", "Raw pixels (Triplet + b)"]
    networks = Space(choices=(Choice(path="model.embedding_dim", values=(8, 16)),))
    numbered = planned(arm("a", space=networks), search=True)
    assert [label for _, label, _, _ in numbered[2:]] == ["Untrained network (1)", "Untrained network (2)"]
    assert planned(arm("a"), replicates=0) == []


class Broken(Pixels):
    """A reference that cannot be evaluated."""

    kind: Literal["broken"] = "broken"

    def evaluator(self, *given: Any) -> Evaluator:
        raise ValueError("no light")


def test_one_that_fails_is_a_failed_trial_and_stops_nothing(
    tiny_bank: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_for_a_test(REFERENCES, Broken, monkeypatch)
    study = Study(name="own", title="Own", question="?", presets=(MINI,), arms=(arm("a"),), search=False)
    dispatcher = Dispatcher(Plan(study, with_epochs(MINI, 1), 0, replicates=1), tiny_bank, tmp_path, {})
    Inline(1, 1.0, 0.0).run(dispatcher, tmp_path, 1000)
    records = {record.trial: record for record in read_records(tmp_path)}
    failed = [record for record in records.values() if record.status != "completed"]
    assert [(record.trial, record.error.message) for record in failed] == [("reference.broken.c00.seed0", "no light")]
    assert len(records) == 1 + 4
    assert dispatcher.exhausted
    assert not dispatcher.complete


def test_they_are_handed_out_last_and_one_that_is_missing_again(tiny_bank: Bank, tmp_path: Path) -> None:
    simulation = Simulation(mini_plan(), tiny_bank, tmp_path)  # which checks that every arm has its winner before
    assert simulation.run().complete
    assert [spec.id for spec in simulation.started[-4:]] == [
        "reference.pixels.c00.seed0",
        "reference.pixels_less_mean.c00.seed0",
        "reference.untrained_network.c00.seed0",
        "reference.untrained_network.c00.seed1",
    ]
    assert len(simulation.started) == mini_plan().trials
    del simulation.records["reference.pixels.c00.seed0"]
    assert simulation.run().complete
    assert [spec.id for spec in simulation.started[mini_plan().trials :]] == ["reference.pixels.c00.seed0"]
