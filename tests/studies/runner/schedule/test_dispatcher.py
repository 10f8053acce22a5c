"""The plan, the order of its trials, and selection: pure logic, on records made by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from fmim import catalogue
from fmim.declare import Arm, Preset, Study
from fmim.plan import Plan
from fmim.runner.search.selection import Outcome, select
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Configuration, FixedSelection, SelectionFile
from tests.support.documents import AT
from tests.support.mini_study import mini_plan
from tests.support.simulation import Simulation


def fixed(folder: Path) -> dict[str, FixedSelection]:
    """The selections on disk, by arm."""
    return SelectionFile.read(folder / "selection.json").arms


TRIALS = {  # of quick: search, and replicates of five seeds
    "automargin_ablation": (0, 10 * 5),
    "automargin_vs_grid": (36 * 3, 11 * 5),
    "automargin_vs_search": ((4 + 1 + 16 + 16 + 16 + 50) * 3, 6 * 5),
    "backbones": (4 * 6 * 2, 8 * 5),
    "baselines": (0, 7 * 5),
    "hyperparameter_selection": (58 * 3, 9 * 5),
    "lambda_sweep": (4 * 3, 4 * 5),
    "margin_sensitivity": (16 * 3, 5),
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


def test_the_catalogue_is_what_is_tested() -> None:
    assert catalogue.names() == list(TRIALS)


def test_a_study_without_a_search_leaves_no_choice() -> None:
    study = catalogue.find("margin_sensitivity")
    with pytest.raises(ValueError, match="has no search, but triplet_epsilon leave a choice"):
        Study(**{**dict(study), "search": False})


def test_the_paper_preset_is_the_papers_protocol() -> None:
    study = catalogue.find("automargin_vs_grid")
    preset = study.preset("paper")
    config = study.arms[0].train_config(preset, {})
    assert (preset.folds, preset.replicates, preset.image_size, config.epochs) == (5, 5, 280, 100)
    assert (config.model.kind, config.model.embedding_dim, config.augmentation.crop) == ("resnet18", 128, 256)
    assert (config.batches.subjects_per_batch, config.batches.images_per_subject) == (32, 4)
    assert (config.learning_rate, config.weight_decay, config.keep) == (1e-4, 1e-4, "best")


def test_arms_share_seeds_and_every_trial_has_its_own_name_and_fingerprint(tiny_bank: Bank) -> None:
    specs = mini_plan().possible(tiny_bank, lambda arm, search_split: ())
    assert len({spec.id for spec in specs}) == len({spec.fingerprint for spec in specs}) == len(specs)
    seeds: dict[tuple[bool, int], set[int]] = {}
    for spec in specs:  # references have the seeds of replicates
        seeds.setdefault((spec.stage == "search", spec.replicate), set()).add(spec.seed)
    assert all(len(values) == 1 for values in seeds.values())
    assert len({min(values) for values in seeds.values()}) == len(seeds)


def test_a_failed_trial_alone_runs_again_and_a_winner_that_changes_by_it_keeps_the_one_before_in_sight(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    """The second margin is the better one, but one of its folds fails once."""
    simulation = Simulation(mini_plan(), tiny_bank, tmp_path)
    assert not simulation.run(slots=2, bad={"triplet_grid.c01.fold0": "failed"}).complete
    before, started = fixed(tmp_path), len(simulation.started)
    assert before["triplet_grid"].configuration == {"epsilon": 0.25}
    assert simulation.run(slots=2).complete
    assert [spec.id for spec in simulation.started[started:]] == [
        "triplet_grid.c01.fold0",
        "triplet_grid.c01.seed0",
        "triplet_grid.c01.seed1",
    ]
    after = fixed(tmp_path)
    assert after["adatriplet_automargin"] == before["adatriplet_automargin"]
    assert after["triplet_grid"].configuration == {"epsilon": 0.5}
    assert [old.configuration for old in after["triplet_grid"].previous] == [{"epsilon": 0.25}]
    assert simulation.run().complete
    assert len(simulation.started) == started + 3


def test_a_configuration_that_lost_a_fold_is_not_selected_and_says_why(tiny_bank: Bank, tmp_path: Path) -> None:
    dispatcher = Simulation(mini_plan(), tiny_bank, tmp_path).run(bad={"triplet_grid.c01.fold0": "diverged"})
    selection = SelectionFile.read(tmp_path / "selection.json").arms["triplet_grid"]
    assert selection.configuration == {"epsilon": 0.25}
    assert selection.scores[1].mean is None
    assert selection.scores[1].excluded == "1 of 2 folds: diverged (fold 0)"
    assert dispatcher.complete  # diverging is a result


def test_an_arm_without_a_winner_has_no_replicates_and_the_study_is_not_complete(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    simulation = Simulation(mini_plan(), tiny_bank, tmp_path)
    dispatcher = simulation.run(bad={f"triplet_grid.c0{c}.fold1": "diverged" for c in (0, 1)})
    assert not [spec for spec in simulation.started if (spec.arm, spec.stage) == ("triplet_grid", "replicate")]
    assert SelectionFile.read(tmp_path / "selection.json").arms["triplet_grid"].configuration is None
    assert not dispatcher.complete


def test_selection_is_the_best_mean_and_the_first_among_equals() -> None:
    def found(*values: list[float]) -> list[list[Outcome]]:
        return [[Outcome("a", 0, f, "completed", {"mAP": v}) for f, v in enumerate(folds)] for folds in values]

    configurations = [{"epsilon": 0.1}, {"epsilon": 0.2}, {"epsilon": 0.3}]
    chosen = select(configurations, 2, found([0.5, 0.7], [0.8, 0.6], [0.6, 0.8]), "mAP")
    assert (chosen.number, chosen.score) == (1, pytest.approx(0.7))
    undefined = select(configurations, 2, found([0.1, 0.1], [0.9, math.nan], [0.2, 0.2]), "mAP")
    assert undefined.configuration == {"epsilon": 0.3}
    assert undefined.scores[1].excluded == "1 of 2 folds: 1 undefined"


def test_declarations_refuse_what_makes_no_sense() -> None:
    study = catalogue.find("automargin_vs_grid")
    with pytest.raises(ValueError, match="triplet_q1 named more than once"):
        Study(**{**dict(study), "arms": (study.arms[0], study.arms[0])})
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
