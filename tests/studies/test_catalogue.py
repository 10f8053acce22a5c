"""The studies of the catalogue: their trials, what their arms promise of their names, and declarations refused."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fmim import catalogue
from fmim.catalogue import automargin_vs_grid, baselines, hyperparameter_selection
from fmim.declare import Arm, Preset, Study
from fmim.declare.presets import PAPER, SMOKE
from fmim.plan import Plan
from fmim_core.records import Configuration, FixedSelection, SelectionFile
from tests.fmim_core.losses.test_losses import LABELS, assert_same, random_embeddings, similarities
from tests.oracles import losses as oracle
from tests.support.documents import AT

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


def test_the_papers_preset_is_the_papers_protocol_and_three_studies_have_a_wat_arm() -> None:
    assert [arm.name for arm in WAT_ARMS] == ["triplet_wat", "wat", "wat_grid"]
    train = baselines.STUDY.arms[-1].train_config(PAPER, {"k_delta": 2, "k_an": 2})
    assert (PAPER.test_protocol, PAPER.folds, PAPER.replicates, PAPER.image_size) == ("fold_ensemble", 5, 5, 280)
    assert (train.keep, train.precision, train.epochs) == ("best_all_pairs", "float32", 100)
    assert (train.batches.subjects_per_batch, train.batches.images_per_subject) == (32, 4)
    assert (train.model.kind, train.model.embedding_dim, train.augmentation.crop) == ("resnet18", 128, 256)
    assert (train.learning_rate, train.weight_decay) == (1e-4, 1e-4)


TRIALS = {  # of quick: search, and replicates of five seeds
    "automargin_ablation": (0, 10 * 5),
    "automargin_vs_grid": (36 * 2, 11 * 5),
    "automargin_vs_search": ((4 + 1 + 16 + 16 + 16 + 50) * 3, 6 * 5),
    "backbones": (4 * 6 * 2, 8 * 5),
    "baselines": (0, 7 * 5),
    "hyperparameter_selection": (58 * 2, 9 * 5),
    "lambda_sweep": (4 * 2, 4 * 5),
    "margin_sensitivity": (16 * 2, 5),
    "training_dynamics": (0, 3 * 5),
}


@pytest.mark.parametrize("name", TRIALS)
def test_every_study_has_its_trials_and_every_configuration_is_a_valid_training(name: str) -> None:
    study = catalogue.find(name)
    for preset in study.presets:
        plan = Plan(study, preset, seed=0, replicates=5)
        for arm in study.arms:
            configs = [plan.train_config(arm, configuration) for configuration in arm.space.corners()]
            assert len({config.model_dump_json() for config in configs}) == len(configs)
    plan = Plan(study, study.preset("quick"), seed=0, replicates=5)
    assert (plan.search_trials, plan.replicate_trials) == TRIALS[name]


def test_the_catalogue_is_what_is_tested_and_two_presets_have_no_answer() -> None:
    assert catalogue.names() == list(TRIALS)
    presets = [(name, preset) for name in TRIALS for preset in catalogue.find(name).presets]
    mute = {(name, preset.name) for name, preset in presets if not preset.answers}
    assert mute == {("backbones", "quick"), *((name, "smoke") for name in TRIALS)}


def test_declarations_refuse_what_makes_no_sense() -> None:
    study = catalogue.find("automargin_vs_grid")
    with pytest.raises(ValueError, match="triplet_q1 named more than once"):
        Study(**{**dict(study), "arms": (study.arms[0], study.arms[0])})
    with pytest.raises(ValueError, match="searches nothing, but triplet_epsilon have a choice"):
        Study(**{**dict(catalogue.find("margin_sensitivity")), "search": False})
    with pytest.raises(ValueError, match="metric 'map'"):
        Study(**{**dict(study), "metric": "map"})
    with pytest.raises(ValueError, match="unknown preset 'tiny'"):
        study.preset("tiny")
    with pytest.raises(
        ValueError, match="unknown study 'automargin'; there are automargin_ablation, automargin_vs_grid"
    ):
        catalogue.find("automargin")
    wrong = Arm(name="wrong", search="S", settings=(("loss.kind", "triplet"), ("marign.kind", "fixed")))
    with pytest.raises(ValueError, match="marign"):
        wrong.train_config(study.preset("smoke"), {})
    assert isinstance(study.preset("smoke"), Preset)


def test_baselines_can_take_what_hyperparameter_selection_selected() -> None:
    study = catalogue.find("baselines")
    source = catalogue.find("hyperparameter_selection")
    last = {arm.name: list(arm.space.configurations())[-1] for arm in source.arms if arm.space.size}

    def selection(winners: Mapping[str, Configuration | None]) -> SelectionFile:
        rest = {"number": 0, "score": 0.5, "metric": "mAP", "scores": (), "selected_at": AT}
        return SelectionFile(arms={name: FixedSelection(configuration=one, **rest) for name, one in winners.items()})

    arms = {arm.name: list(arm.space.configurations()) for arm in study.with_winners(selection(last)).arms}
    assert arms["sct"] == [{"lam": 2.0}]
    assert arms["contrastive"] == [{"m_neg": 1.0, "m_pos": 0.75}]
    assert arms["adatriplet"] == [{"k_delta": 4, "k_an": 4}]
    with pytest.raises(ValueError, match="arm 'arcface' takes margin_degrees from the winner of 'arcface_grid'"):
        study.with_winners(selection({**last, "arcface_grid": None}))
    with pytest.raises(ValueError, match="leave out --selected"):
        source.with_winners(selection(last))
