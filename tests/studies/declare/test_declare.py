"""What a study declares: which arms it compares, and what an arm is, as study.json and reports have it."""

from __future__ import annotations

import pytest

from fmim import catalogue
from fmim.declare import Arm, Study
from fmim.plan import Plan
from tests.support.mini_study import MINI


def arm(name: str, *settings: tuple[str, str], **more: str) -> Arm:
    return Arm(name=name, settings=settings or (("loss.kind", "triplet"),), **more)


def study(**more: object) -> Study:
    arms = (arm("a"), arm("b"), arm("c"))
    return Study(name="s", title="t", question="q", presets=(MINI,), arms=arms, search=False, **more)


def test_a_baseline_is_compared_with_every_other_arm_and_comparisons_are_taken_as_given() -> None:
    assert study().comparison_pairs == ()
    assert study(baseline="b").comparison_pairs == (("a", "b"), ("c", "b"))
    assert study(comparisons=(("c", "a"), ("b", "a"))).comparison_pairs == (("c", "a"), ("b", "a"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"baseline": "d"}, "study 's' compares d, but its arms are a, b, c"),
        ({"comparisons": (("a", "d"), ("e", "b"))}, "study 's' compares d, e, but its arms are a, b, c"),
        ({"comparisons": (("a", "a"),)}, "study 's' compares a with itself: name two arms"),
        ({"comparisons": (("a", "b"), ("a", "b"))}, "compares a and b more than once: name each pair once"),
        ({"comparisons": (("a", "b"), ("b", "a"))}, "compares b and a more than once: name each pair once"),
        ({"baseline": "a", "comparisons": (("a", "b"),)}, "study 's': give a baseline or comparisons, not both"),
    ],
)
def test_comparisons_that_make_no_sense_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        study(**given)


def test_an_arms_loss_and_margins_follow_from_its_settings_and_its_group_is_for_display() -> None:
    plain = arm("x", ("loss.kind", "adatriplet"), ("margins.kind", "automargin"), search="AutoMargin").entry(
        replicates=5
    )
    assert (plain.loss, plain.loss_kind, plain.margins_kind) == ("AdaTriplet", "adatriplet", "automargin")
    assert plain.margins_vary
    assert (plain.group, plain.search, plain.label) == ("AdaTriplet", "AutoMargin", "AdaTriplet + AutoMargin")
    backbone = arm("x", search="Grid search", group="ResNet-18").entry(replicates=5)
    assert (backbone.loss, backbone.group, backbone.label) == (
        "Triplet",
        "ResNet-18",
        "ResNet-18 + grid search",
    )
    sct = arm("x", ("loss.kind", "sct")).entry(replicates=5)
    assert (sct.loss, sct.margins_kind, sct.group, sct.label) == ("SCT", "none", "SCT", "SCT")
    assert not sct.margins_vary


def test_an_arm_needs_a_loss_that_exists() -> None:
    with pytest.raises(ValueError, match=r"arm 'x': its settings name no loss; add one, e.g. \('loss.kind', 'triplet'"):
        Arm(name="x", settings=())
    with pytest.raises(
        ValueError,
        match=r"unknown loss kind 'tripletx'; there are adatriplet, .* Did you mean 'triplet'",
    ):
        arm("x", ("loss.kind", "tripletx")).entry(replicates=5)


def test_study_json_says_what_searches_are_not_how_they_are_called() -> None:
    arms = {
        each.name: each.entry(replicates=5).searcher_facts.model_dump()
        for each in catalogue.find("automargin_vs_search").arms
    }
    plain = {"uses_results": False, "screens": False, "ordered": False}
    for name in ("automargin", "automargin_k2", "grid", "random"):
        assert arms[name] == plain
    assert arms["tpe"] == {"uses_results": True, "screens": False, "ordered": True}
    assert arms["asha"] == {"uses_results": False, "screens": True, "ordered": True}


PAIRS = {
    "automargin_ablation": 9,
    "automargin_vs_grid": 4,
    "automargin_vs_search": 8,
    "backbones": 4,
    "baselines": 6,
    "lambda_sweep": 3,
}


@pytest.mark.parametrize("name", catalogue.names())
def test_the_catalogue_says_what_it_compares(name: str) -> None:
    assert len(catalogue.find(name).comparison_pairs) == PAIRS.get(name, 0)


def test_the_catalogues_labels_are_the_papers() -> None:
    labels = {name: [arm.label for arm in catalogue.find(name).arms] for name in catalogue.names()}
    assert labels["automargin_vs_grid"][:5] == [
        "Triplet + Q1",
        "Triplet + Q2",
        "Triplet + WAT",
        "Triplet + grid search",
        "Triplet + AutoMargin",
    ]
    assert labels["baselines"] == ["SoftTriple", "ArcFace", "SCT", "WAT", "Contrastive", "Triplet", "AdaTriplet"]
    assert labels["hyperparameter_selection"][2:4] == ["WAT + grid search", "SoftTriple + grid search"]
    assert labels["backbones"][:2] == ["ResNet-18 + grid search", "ResNet-18 + AutoMargin"]
    assert labels["lambda_sweep"][0] == "AdaTriplet + λ = 0"


def test_compared_arms_may_have_more_seeds_than_the_others() -> None:
    study = catalogue.find("automargin_vs_grid")
    plan = Plan(study, study.preset("quick"), seed=0)
    compared = {name for pair in study.comparison_pairs for name in pair}
    assert len(compared) == 6
    assert {arm.name: plan.replicates_of(arm) for arm in plan.arms} == {
        arm.name: 10 if arm.name in compared else 3 for arm in study.arms
    }
    assert (plan.replicate_trials, plan.compared_replicates) == (6 * 10 + 5 * 3, 10)
    given = Plan(study, study.preset("quick"), seed=0, replicates=3)
    assert {given.replicates_of(arm) for arm in plan.arms} == {given.compared_replicates} == {3}
