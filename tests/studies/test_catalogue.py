"""What the arms of the catalogue promise of the methods they are named after."""

from __future__ import annotations

import pytest

from studies.catalogue import automargin_vs_grid, baselines, hyperparameter_selection
from studies.declare import Arm
from studies.presets import SMOKE
from tests.fmim_core.losses.test_losses import LABELS, assert_same, random_embeddings, similarities
from tests.oracles import losses as oracle

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
