"""Variations of selected configurations: which trials they are, when they run, and what they are equal to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fmim.declare.presets import Variation
from fmim.plan import Plan
from fmim_core.data.bank.bank import Bank
from fmim_core.records import ON_FOLDS, SelectionFile
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Choice, Space
from fmim_spaces.searchers import Grid
from tests.support.simulation import Simulation, arm, plan_of

LONGER, SLOWER = Variation(setting="epochs", factor=3), Variation(setting="learning_rate", factor=0.5)
EPSILONS, ONE = (
    Space(choices=(Choice(path="margins.epsilon", values=values), Choice(path="margins.beta", values=(0.3,))))
    for values in ((0.1, 0.4), (0.2,))
)


@pytest.fixture
def plan() -> Plan:
    """Three arms, two of which are compared, on two folds, with two variations."""
    plan = plan_of(arm("grid", Grid(), EPSILONS), arm("one", Grid(), ONE), arm("other", Grid(), ONE), replicates=2)
    study = plan.study.model_copy(update={"comparisons": (("one", "grid"),)})
    return replace(plan, study=study, preset=plan.preset.model_copy(update={"variations": (LONGER, SLOWER)}))


def test_compared_arms_have_their_winner_varied_on_the_folds(plan: Plan, tiny_bank: Bank, tmp_path: Path) -> None:
    assert [plan.variation_trials_of(one) for one in plan.arms] == [4, 4, 0]
    assert plan.trials == plan.search_trials + 8 + plan.replicate_trials + plan.reference_trials
    simulation = Simulation(plan, tiny_bank, tmp_path)
    for _ in range(8):
        simulation.run(slots=2, kill_after=4)
    assert simulation.run().complete
    varied = [spec for spec in simulation.started if spec.stage == "variation" and spec.id in simulation.records]
    assert {spec.id for spec in varied} == {
        f"{name}.{variation}.fold{fold}"
        for name in ("grid.c01", "one.c00")  # ε = 0.4 is the grid's best
        for variation in ("epochs_x3", "learning_rate_x0.5")
        for fold in (0, 1)
    }
    rate = plan.training_of(plan.arms[0]).learning_rate
    for spec in varied:
        assert (spec.train.epochs, spec.train.learning_rate) in ((27, rate), (9, rate / 2))
        assert not spec.reads_test_set
    assert SelectionFile.read(tmp_path / "selection.json").arms["grid"].number == 1


def test_a_variation_is_equal_to_the_search_trial_of_the_same_training(plan: Plan, tiny_bank: Bank) -> None:
    """So that a study with another learning rate takes its record, and has the seed and folds of the search."""
    configuration: Mapping[str, Any] = plan.arms[1].listed[0] if plan.arms[1].listed else {}
    varied = plan.vary(plan.arms[1], 0, configuration, tiny_bank)
    preset = plan.preset.model_copy(
        update={"settings": (*plan.preset.settings, *SLOWER.of(plan.training_of(plan.arms[1])))}
    )
    searched = replace(plan, preset=preset).search(plan.arms[1], 0, configuration, tiny_bank)

    def result(spec: TrialSpec) -> tuple[str, int, int, int | None]:
        return spec.fingerprint, spec.seed, spec.folds_seed, spec.fold

    assert [result(spec) for spec in varied[2:]] == [result(spec) for spec in searched]
    assert {spec.stage for spec in (*varied, *searched)} == set(ON_FOLDS)
    assert len({spec.fingerprint for spec in varied}) == len(varied)


def test_another_seed_is_the_same_training_on_the_same_folds_and_a_trial_of_its_own(
    plan: Plan, tiny_bank: Bank
) -> None:
    plan = replace(plan, preset=plan.preset.model_copy(update={"variations": (Variation(setting="seed"),)}))
    (grid, first), (one, second) = ((arm, (arm.listed or [{}])[0]) for arm in plan.arms[:2])
    searched, anew = plan.search(one, 0, second, tiny_bank), plan.vary(one, 0, second, tiny_bank)
    assert [spec.id for spec in anew] == ["one.c00.another_seed.fold0", "one.c00.another_seed.fold1"]
    for again, before in zip(anew, searched, strict=True):
        assert (again.train, again.folds_seed, again.fold) == (before.train, before.folds_seed, before.fold)
    every = [*searched, *anew, *plan.replicate(one, 0, second, tiny_bank)]
    assert len({spec.seed for spec in every}) == len({spec.fingerprint for spec in every}) == 6
    other = plan.vary(grid, 0, first, tiny_bank)
    assert [spec.seed for spec in other] == [spec.seed for spec in anew]  # so that arms stay paired
