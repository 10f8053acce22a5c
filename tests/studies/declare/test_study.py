"""What a study declares (arms, comparisons, surfaces), and what `--set FIELD=VALUE` may change of its presets."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fmim import catalogue
from fmim.commands.options import Options
from fmim.declare import Arm, Study
from fmim.declare.presets import QUICK
from fmim.declare.study import Surface, read_changes, with_changes
from fmim.plan import Plan
from fmim.plan.checks import check_trainings
from fmim_core.data.bank.bank import Bank
from fmim_core.records import DONE, FixedSelection, SelectionFile, StudyFile, read_records
from fmim_reports.parts.verdict import cautions
from fmim_reports.reading.results import read_results
from fmim_spaces.domain import Assignment, Choice, Space
from tests.support.mini_study import MINI, MINI_STUDY, mini_plan, options_in, run_here
from tests.support.program import Program


def arm(name: str, *settings: tuple[str, str], **more: str) -> Arm:
    return Arm(name=name, settings=settings or (("loss.kind", "triplet"),), **more)


def study(**more: object) -> Study:
    arms = (arm("a"), arm("b"), arm("c"))
    return Study(name="s", title="t", question="q", presets=(MINI,), arms=arms, search=False, **more)


def test_settings_may_be_nested_and_there_may_be_nothing_to_say_of_a_search() -> None:
    miner = {"name": "HDCMiner", "params": {"filter_percentage": 0.5}}
    flat = (("loss.kind", "pml"), ("loss.name", "NCALoss"), ("loss.miner.name", "HDCMiner"))
    flat = (*flat, ("loss.miner.params.filter_percentage", 0.5), ("epochs", 2))
    nested = {"loss": {"kind": "pml", "name": "NCALoss", "miner": miner}, "epochs": 2}
    for settings in (flat, nested, tuple(nested.items()), (*flat[:2], ("loss.miner", miner), flat[-1])):
        made = Arm(name="a", settings=settings, search=None)
        assert made == Arm(name="a", settings=flat)
        assert (made.label, made.search) == ("NCALoss with HDCMiner", "")
    with pytest.raises(ValueError, match=r"Arm\nsettings.0\n  Input should be a valid tuple"):
        Arm(name="a", settings=("loss.kind", "pml"))


def test_a_change_and_a_space_may_be_of_any_parameter_of_the_librarys_loss() -> None:
    changed = with_changes(QUICK, read_changes(["loss.params.swap=true", "loss.params.margin=1e-1"]))
    names = Choice(path="loss.name", values=("TripletMarginLoss",))
    smooth = Choice(path="loss.params.smooth_loss", values=(True, False))
    p = Choice(path="loss.distance.params.p", values=(1,))
    settings = {"loss": {"kind": "pml", "distance": {"name": "LpDistance"}}}
    own = Arm(name="a", settings=settings, space=Space(choices=(names, p, smooth)))
    loss = own.train_config(changed, next(own.space.corners())).loss
    assert (loss.name, dict(loss.params)) == ("TripletMarginLoss", {"margin": 0.1, "smooth_loss": True, "swap": True})
    assert dict(loss.distance.params) == {"p": 1}
    assert own.label == "PML"


def test_parameters_of_one_name_are_told_apart_by_another_wherever_they_are_taken_to() -> None:
    margins = [Choice(path=f"loss.{part}params.margin", values=(0.1, 0.2)) for part in ("", "miner.")]
    with pytest.raises(ValueError, match=r"two have the same name, .*called='…'"):
        Space(choices=margins)
    space = Space(choices=(margins[0], Choice(path=margins[1].path, called="miner_margin", values=(0.1, 0.2))))
    assert space.values() == {"margin": [0.1, 0.2], "miner_margin": [0.1, 0.2]}
    settings = {"loss": {"kind": "pml", "name": "TripletMarginLoss", "miner": {"name": "TripletMarginMiner"}}}
    own = Arm(name="a", settings=settings, space=space, selected_from="a")
    values = {"margin": 0.1, "miner_margin": 0.2}
    won = FixedSelection(configuration=values, number=0, score=0.5, metric="mAP", scores=(), selected_at="")
    taken = own.with_winner(SelectionFile(arms={"a": won}))
    assert list(taken.space.configurations()) == [values]
    for one in (own, taken):
        loss = one.train_config(MINI, values).loss
        assert (dict(loss.params), dict(loss.miner.params)) == ({"margin": 0.1}, {"margin": 0.2})


def test_a_baseline_is_compared_with_every_other_arm_and_comparisons_are_taken_as_given() -> None:
    assert study().comparison_pairs == ()
    assert study(baseline="b").comparison_pairs == (("a", "b"), ("c", "b"))
    assert study(comparisons=(("c", "a"), ("b", "a"))).comparison_pairs == (("c", "a"), ("b", "a"))
    claiming = study(comparisons=(("c", "a"),), claims=(("b", "a"),))
    assert claiming.comparison_pairs == (("c", "a"), ("b", "a"))
    assert claiming.question_pairs == (("c", "a"),)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"baseline": "d"}, "study 's' compares d, but its arms are a, b, c"),
        ({"comparisons": (("a", "d"), ("e", "b"))}, "study 's' compares d, e, but its arms are a, b, c"),
        ({"comparisons": (("a", "a"),)}, "compares a with itself"),
        ({"comparisons": (("a", "b"), ("a", "b"))}, "compares a and b more than once"),
        ({"comparisons": (("a", "b"), ("b", "a"))}, "compares b and a more than once"),
        ({"comparisons": (("a", "b"),), "claims": (("b", "a"),)}, "compares b and a more than once"),
        ({"claims": (("a", "d"),)}, "study 's' compares d, but its arms are a, b, c"),
        ({"baseline": "a", "comparisons": (("a", "b"),)}, "a baseline or comparisons, not both"),
    ],
)
def test_comparisons_that_make_no_sense_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study(**given)


def test_an_arms_loss_and_margins_follow_from_its_settings_and_its_group_is_for_display() -> None:
    plain, backbone, sct = (
        one.entry(replicates=5)
        for one in (
            arm("x", ("loss.kind", "adatriplet"), ("margins.kind", "automargin"), search="AutoMargin"),
            arm("x", search="Grid search", group="ResNet-18"),
            arm("x", ("loss.kind", "sct")),
        )
    )
    assert (plain.loss, plain.loss_kind, plain.margins_kind) == ("AdaTriplet", "adatriplet", "automargin")
    assert (plain.margins_vary, sct.margins_vary) == (True, False)
    assert (plain.group, plain.search, plain.label) == ("AdaTriplet", "AutoMargin", "AdaTriplet + AutoMargin")
    assert (backbone.loss, backbone.group, backbone.label) == ("Triplet", "ResNet-18", "ResNet-18 + grid search")
    assert (sct.loss, sct.margins_kind, sct.group, sct.label) == ("SCT", "none", "SCT", "SCT")
    with pytest.raises(
        ValueError, match=r"arm 'x' has no loss: add one to its settings, e.g. \('loss.kind', 'triplet'"
    ):
        Study(name="y", title="Y", question="?", arms=(Arm(name="x"),))
    with pytest.raises(ValueError, match=r"loss kind 'tripletx'; there are adatriplet, .* Did you mean 'triplet'"):
        arm("x", ("loss.kind", "tripletx")).entry(replicates=5)


def test_study_json_says_what_searches_are_not_how_they_are_called() -> None:
    search = catalogue.find("automargin_vs_search")
    facts = {one.name: one.entry(replicates=5).searcher_facts.model_dump() for one in search.arms}
    assert set(facts) == {"automargin", "automargin_k2", "grid", "random", "tpe", "asha"}
    assert facts.pop("tpe") == {"uses_results": True, "screens": False, "ordered": True}
    assert facts.pop("asha") == {"uses_results": False, "screens": True, "ordered": True}
    assert all(one == {"uses_results": False, "screens": False, "ordered": False} for one in facts.values())


def test_the_catalogue_says_what_it_compares_and_its_labels_are_the_papers() -> None:
    studies = {name: catalogue.find(name) for name in catalogue.names()}
    assert {name: len(one.comparison_pairs) for name, one in studies.items()} == {
        "automargin_ablation": 9,
        "automargin_vs_grid": 9,
        "automargin_vs_search": 8,
        "backbones": 4,
        "baselines": 6,
        "hyperparameter_selection": 0,
        "lambda_sweep": 3,
        "margin_sensitivity": 0,
        "training_dynamics": 0,
    }
    labels = {name: [arm.label for arm in one.arms] for name, one in studies.items()}
    of_triplet = [f"Triplet + {search}" for search in ("Q1", "Q2", "WAT", "grid search", "AutoMargin")]
    assert labels["automargin_vs_grid"][:5] == of_triplet
    assert labels["baselines"] == ["SoftTriple", "ArcFace", "SCT", "WAT", "Contrastive", "Triplet", "AdaTriplet"]
    assert labels["hyperparameter_selection"][2:4] == ["WAT + grid search", "SoftTriple + grid search"]
    assert labels["backbones"][:2] == ["ResNet-18 + grid search", "ResNet-18 + AutoMargin"]
    assert labels["lambda_sweep"][0] == "AdaTriplet + λ = 0"


def test_compared_arms_may_have_more_seeds_than_the_others() -> None:
    study = catalogue.find("automargin_vs_grid")
    plan = Plan(study, study.preset("quick"), seed=0)
    compared = {name for pair in study.comparison_pairs for name in pair}
    assert len(compared) == 9
    assert {arm.name: plan.replicates_of(arm) for arm in plan.arms} == {
        arm.name: 10 if arm.name in compared else 2 for arm in study.arms
    }
    assert (plan.replicate_trials, plan.compared_replicates) == (9 * 10 + 2 * 2, 10)
    given = Plan(study, study.preset("quick"), seed=0, replicates=3)
    assert {given.replicates_of(arm) for arm in plan.arms} == {given.compared_replicates} == {3}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ((("loss.kind", "arcface"),), "'arcface' found using 'kind' does not match"),
        ((("loss.kind", "triplet"), ("loss.lam", 1.0)), r"'Surface': loss.triplet: unknown field 'lam'; Triplet has"),
        ((("loss.kind", "triplet"), ("margins.epsilon", 0.5)), r"unknown field 'margins'; SurfaceConfig has loss"),
        ((), "loss: is missing"),
    ],
)
def test_a_surface_of_no_such_loss_is_refused_when_the_study_is_planned(
    settings: tuple[Assignment, ...], message: str, tiny_bank: Bank
) -> None:
    surface = Surface(label="Surface", settings=settings, epsilon=0.25)
    plan = replace(mini_plan(), study=MINI_STUDY.model_copy(update={"surfaces": (surface,)}))
    with pytest.raises(ValueError, match=message):
        check_trainings(plan, tiny_bank.development())


def test_a_change_is_of_the_training_or_of_the_preset_and_the_preset_remembers_it() -> None:
    given = read_changes(["epochs=3", "learning_rate=1e-3", "folds=5", "phantom.ageing=2", "model.kind=resnet18"])
    changed = with_changes(QUICK, given)
    assert (changed.folds, changed.phantom.ageing) == (5, 2.0)
    assert changed.phantom.acquisition == QUICK.phantom.acquisition
    arm = catalogue.find("lambda_sweep").arms[0]
    training = arm.train_config(changed, next(arm.space.corners()))
    assert (training.epochs, training.learning_rate, training.model.kind) == (3, 0.001, "resnet18")
    assert training.augmentation.crop == 64
    assert changed.changed == given
    assert read_changes(["model.weights=a=b"]) == (("model.weights", "a=b"),)
    assert with_changes(QUICK, ()) == QUICK


def test_epochs_is_short_for_a_change_and_phantoms_are_changed_only_where_they_are_used() -> None:
    _, short = Options(study="lambda_sweep", epochs=7).declared()
    _, long = Options(study="lambda_sweep", changes=["epochs=7"]).declared()
    assert short == long
    assert short.changed == (("epochs", 7),)
    with pytest.raises(ValueError, match=r"--set phantom.ageing is for phantoms, but --data is x.csv"):
        Options(study="lambda_sweep", data="x.csv", changes=["phantom.ageing=2"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["epochs"], "--set epochs: write FIELD=VALUE, e.g. --set epochs=50"),
        (["=3"], "--set =3: write FIELD=VALUE"),
        (["epochs=3", "epochs=4"], "--set epochs is given twice"),
        (["epoch=3"], "--set: unknown field 'epoch'; TrainConfig has loss, margins"),
        (["batches.per_epochs=3"], "per_epoch. Did you mean 'per_epoch'?"),
        (["batches.images_per_subject=0"], "--set: batches.images_per_subject: Input should be greater than"),
        (["folds=1"], "--set: folds: Input should be greater than or equal to 2 (given '1')"),
        (["phantom.age=1"], "--set: phantom: unknown field 'age'; PhantomConfig has"),
        (["learning_rate=fast"], "--set: learning_rate: Input should be a valid number"),
        (["model.kind=resnet18", "model.weights=3"], "valid string (given '3')\n"),
        (["model.kind=resnt50"], "unknown model kind 'resnt50'; there are convnext_tiny, resnet18"),
        (["margins.k_delta=3"], "sets margins.k_delta itself; change the study's arms instead"),
        (["loss=triplet"], "sets loss.kind itself"),
        (["margins.kind.x=1"], "sets margins.kind itself"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given: list[str], message: str, tmp_path: Path, fmim_here: Program) -> None:
    arguments = [word for text in given for word in ("--set", text)]
    done = fmim_here("plan", "automargin_vs_grid", *arguments, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_change_is_recorded_told_and_part_of_the_plan(tmp_path: Path) -> None:
    plan = mini_plan(replicates=1)
    preset = with_changes(MINI, read_changes(["epochs=1", "augmentation.crop=20"]))
    assert run_here(replace(plan, preset=preset), options_in(tmp_path)) == DONE
    out = tmp_path / "study"
    assert StudyFile.read(out / "study.json").changed == {"epochs": 1, "augmentation.crop": 20}
    trained = [record for record in read_records(out) if record.stage != "reference"]
    assert {(r.config["epochs"], r.config["augmentation"]["crop"]) for r in trained} == {(1, 20)}
    said = cautions(read_results(out))
    assert "This run changed the preset mini: epochs = 1, augmentation.crop = 20." in said
    shutil.rmtree(tmp_path / "banks")
    with pytest.raises(ValueError, match=r"--set was \{'epochs': 1, 'augmentation.crop': 20\}, is \{\}"):
        run_here(plan, options_in(tmp_path))
