"""What the arms of the catalogue promise of the methods they are named after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fmim.catalogue import automargin_vs_grid, baselines, hyperparameter_selection
from fmim.declare import Arm
from fmim.declare.presets import PAPER, SMOKE
from fmim.plan.checks import check_trainings
from fmim_core.data.bank.bank import Bank
from tests.fmim_core.losses.test_losses import LABELS, assert_same, random_embeddings, similarities
from tests.oracles import losses as oracle
from tests.support.mini_study import MINI, MINI_STUDY, ensemble_plan, mini_plan

WAT_ARMS = [
    arm
    for study in (automargin_vs_grid.STUDY, baselines.STUDY, hyperparameter_selection.STUDY)
    for arm in study.arms
    if arm.margins_kind == "wat"
]


@pytest.mark.parametrize("arm", WAT_ARMS, ids=lambda arm: arm.name)
@pytest.mark.parametrize("seed", range(3))
def test_every_wat_arm_is_wat_as_the_authors_run_it(arm: Arm, seed: int) -> None:
    for configuration in arm.space.corners():
        config, e = arm.train_config(SMOKE, configuration), random_embeddings(seed)
        margins = config.margins.build().for_batch(similarities(e, LABELS))
        ours = config.loss.build(e.shape[1], len(set(LABELS)))(similarities(e, LABELS), margins).value
        assert_same(ours, oracle.wat_loss(e, LABELS, config.margins.beta), e)


def test_there_is_a_wat_arm_in_three_studies() -> None:
    assert [arm.name for arm in WAT_ARMS] == ["triplet_wat", "wat", "wat_grid"]


def test_the_papers_preset_is_the_papers_protocol() -> None:
    train = baselines.STUDY.arms[-1].train_config(PAPER, {"k_delta": 2, "k_an": 2})
    assert (PAPER.test_protocol, PAPER.folds, PAPER.replicates) == ("fold_ensemble", 5, 5)
    assert (train.keep, train.precision, train.epochs, train.batches.size) == ("best", "float32", 100, 128)


def test_a_best_epoch_is_refused_where_nothing_validates(tiny_bank: Bank) -> None:
    plan = mini_plan()
    kept = MINI.model_copy(update={"settings": (*MINI.settings, ("keep", "best"))})
    with pytest.raises(ValueError, match="keeps the best validation epoch, but preset mini tests models retrained on"):
        check_trainings(replace(plan, preset=kept), tiny_bank.development())
    for allowed in (ensemble_plan(replace(plan, preset=kept)), replace(plan, preset=kept, replicates=0)):
        assert len(check_trainings(allowed, tiny_bank.development())) == 2


def test_the_folds_of_an_ensemble_are_checked_without_a_search(tiny_bank: Bank) -> None:
    arms = MINI_STUDY.arms[:1]
    study = MINI_STUDY.model_copy(update={"search": False, "arms": arms})
    crowded = MINI.model_copy(update={"settings": (*MINI.settings, ("batches.subjects_per_batch", 8))})
    retrained = replace(mini_plan(), study=study, preset=crowded)
    assert check_trainings(retrained, tiny_bank.development()) == []
    with pytest.raises(ValueError, match="subjects"):
        check_trainings(ensemble_plan(retrained), tiny_bank.development())
