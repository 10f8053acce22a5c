"""Spaces and searchers as declared: what they hold, what they refuse, and what is planned for them."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys

import pytest

from fmim import catalogue
from fmim.declare import Arm, Study
from fmim.plan import Plan
from fmim.runner.search.tpe import TPE
from fmim_core.seeding import Draws
from fmim_spaces.domain import Choice, LogUniform, Space, Uniform
from fmim_spaces.searcher import History
from fmim_spaces.searchers import QMC, Grid, Random
from fmim_spaces.successive_halving import ASHA, SuccessiveHalving
from tests.support.mini_study import MINI
from tests.support.paths import ROOT, TASKS
from tests.support.simulation import MARGINS, MIXED, arm, plan_of

GRID = Space(choices=(*MIXED.choices, Choice(path="margins.beta", values=(0.1,))))


@pytest.mark.parametrize(
    ("parameter", "shares", "values"),
    [
        (Uniform(path="a.b", low=1 / 3, high=1.0), (0.0, 0.5, 0.99999999), [1 / 3, 0.6667, 1.0]),  # four digits
        (Uniform(path="a.b", low=0.0, high=1.0), (0.000012346,), [1.235e-05]),
        (LogUniform(path="a.b", low=1e-4, high=1.0), (0, 0.25, 0.5, 0.75), [1e-4, 1e-3, 1e-2, 1e-1]),
        (Choice(path="a.b", values=(1, 2, 3)), [i / 9 for i in range(9)], [1, 1, 1, 2, 2, 2, 3, 3, 3]),
        (MIXED, ([0.0, 0.34, 0.25],), [{"epsilon": 0.1, "lam": 1.0, "beta": 0.25}]),
    ],
)
def test_a_share_of_the_way_is_a_value_and_a_point_of_the_unit_cube_a_configuration(parameter, shares, values) -> None:
    assert [parameter.at(share) for share in shares] == values


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(path="a.b", low=1, high=1), "a.b: low = 1 must be below high = 1"),
        (lambda: Uniform(path="a.b", low=0, high=math.inf), "finite"),
        (lambda: LogUniform(path="a.b", low=0, high=1), "a.b: low = 0 has no logarithm"),
        (lambda: Space(choices=MIXED.choices, ranges=(Uniform(path="b.lam", low=0, high=1),)), "same name"),
        (lambda: arm("x", Grid()), r"arm 'x': a grid cannot list epsilon ∈ \[0.05, 1\], beta .* use choices"),
        (lambda: arm("x", TPE(samples=4), Space()), "arm 'x': TPE has nothing to search: the space is empty"),
        (lambda: Random(samples=0), "greater than 0"),
        (lambda: ASHA(samples=3, reduction=1), "greater than or equal to 2"),
        (lambda: TPE(samples=3, in_flight=0), "greater than 0"),
        (lambda: Grid(sample=2), "sample"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_when_it_is_declared(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_early_stopping_needs_the_metric_that_epochs_have_and_a_sampled_arm_needs_a_search() -> None:
    parts = {"name": "s", "title": "t", "question": "q", "presets": (MINI,)}
    with pytest.raises(ValueError, match="asha stop trials by validation mAP, so cannot select by CMC_1"):
        Study(**parts, metric="CMC_1", arms=(arm("asha", ASHA(samples=4)),))
    with pytest.raises(ValueError, match="searches nothing, but random have a choice"):
        Study(**parts, search=False, arms=(arm("random", Random(samples=1)),))


def test_every_value_of_a_range_must_be_a_valid_training() -> None:
    wide = Space(ranges=(Uniform(path="margins.epsilon", low=0.1, high=3.0),))
    settings = (("loss.kind", "triplet"), ("margins.kind", "fixed"))
    plan = plan_of(Arm(name="wide", settings=settings, space=wide, searcher=Random(samples=4)))
    with pytest.raises(ValueError, match="epsilon"):
        plan.train_configs()


def test_arms_with_searchers_are_data_that_hashes_pickles_and_is_json() -> None:
    searchers = (Random(samples=3), QMC(samples=4), TPE(samples=5, startup=2), ASHA(samples=6))
    arms = [arm("x", searcher, MIXED) for searcher in searchers]
    assert len(set(arms)) == 4
    assert pickle.loads(pickle.dumps(arms)) == arms
    for each in arms:
        written = json.loads(each.model_dump_json())
        read = type(each.searcher).model_validate(written["searcher"])
        assert Arm.model_validate(written | {"searcher": read}) == each
    assert arms[0].entry(replicates=5).space["beta"] == {"low": 0.0, "high": 1.0, "scale": "linear"}


def test_a_budget_is_what_there_is_to_train() -> None:
    grid = Space(choices=MIXED.choices)
    assert [one.budget(grid) for one in (Grid(), Random(samples=4), TPE(samples=10))] == [6, 4, 6]
    assert ASHA(samples=10).budget(MIXED) == 10


def test_the_plan_counts_every_configuration_on_every_fold_and_says_where_that_is_only_the_most() -> None:
    """A grid of 2 × 3 on 5 folds: 30."""
    plain = plan_of(arm("plain", Grid(), GRID), folds=5)
    assert (plain.search_trials, plain.exact) == (30, True)
    stopping = plan_of(arm("asha", ASHA(samples=10)), folds=5, replicates=3)
    assert (stopping.search_trials, stopping.trials, stopping.exact) == (50, 50 + 3 + 5, False)  # and 5 of references


def test_searchers_that_are_none_are_warned_of() -> None:
    assert "is only a random search" in plan_of(arm("tpe", TPE(samples=8, startup=8))).warnings[0]
    assert "no rung" in plan_of(arm("asha", ASHA(samples=8)), epochs=1).warnings[0]


@pytest.mark.parametrize(
    ("epochs", "reduction", "rungs", "expected"),
    [(9, 3, 2, (1, 3)), (2, 2, 2, (1,)), (1, 3, 2, ()), (100, 3, 4, (2, 4, 12, 34)), (27, 3, 1, (9,))],
)
def test_rungs_are_shares_of_the_training(epochs: int, reduction: int, rungs: int, expected: tuple[int, ...]) -> None:
    assert ASHA(samples=9, reduction=reduction, rungs=rungs).stopping_points(epochs) == expected


def test_expected_epochs_are_counted_one_configuration_after_the_other() -> None:
    rule, epochs, folds = SuccessiveHalving(reduction=3, rungs=2), 9, 4
    ends = [1] * 54 + [3] * 18 + [9] * 9  # of 81, two thirds end at each rung
    share = (sum(ends) + 9 * (folds - 1) * epochs) / (81 * folds * epochs)
    assert rule.expected_share(epochs, folds) == pytest.approx(share)


@pytest.mark.parametrize("name", ["quick", "full", "paper"])
def test_the_searches_of_automargin_vs_search_have_equal_budgets(name: str) -> None:
    study = catalogue.find("automargin_vs_search")
    plan = Plan(study, study.preset(name), seed=0, replicates=5)
    arms = {each.name: each for each in study.arms}
    assert [each.budget for each in study.arms] == [4, 1, 16, 16, 16, 50]
    rule = arms["asha"].searcher.stopping_rule
    assert isinstance(rule, SuccessiveHalving)
    share = rule.expected_share(plan.training_of(arms["asha"]).validations, plan.preset.folds)
    assert 0.9 <= arms["asha"].budget * share / 16 <= 1.05


def test_the_continuous_space_spans_the_papers_grid() -> None:
    study = catalogue.find("automargin_vs_search")
    grid, random = (next(each for each in study.arms if each.name == name) for name in ("grid", "random"))
    ranges = {each.name: each for each in random.space.ranges}
    for configuration in grid.listed:
        assert configuration.keys() == ranges.keys()
        assert all(ranges[name].low <= value <= ranges[name].high for name, value in configuration.items())
    assert random.space.values() == MARGINS.values()


def test_the_page_on_ones_own_search_declares_one() -> None:
    page = (TASKS / "search.md").read_text(encoding="utf-8")
    code = page.partition("## Spaces")[2].partition("```python\n")[2].partition("```")[0]
    command = [sys.executable, "-m", "ruff", "check", "--stdin-filename", str(ROOT / "page.py"), "-"]
    linted = subprocess.run(command, cwd=ROOT, input=code, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout
    names: dict[str, object] = {}
    exec(code, names)
    declared = names["ARM"]
    assert isinstance(declared, Arm)
    assert (declared.budget, plan_of(declared, epochs=2).train_configs()[1].margins.epsilon) == (16, 1.0)


@pytest.mark.parametrize("searcher", [QMC(samples=4000), Random(samples=4000), ASHA(samples=4000)], ids=str)
def test_a_late_proposal_looks_at_as_many_configurations_as_an_early_one(searcher, monkeypatch) -> None:
    looked, at = [], Space.at
    monkeypatch.setattr(Space, "at", lambda space, point: looked.append(point) or at(space, point))
    draws, proposed = Draws((0, "arm")), []
    for number in range(400):
        configuration = searcher.propose(History(MARGINS, proposed, (), True, draws))
        assert configuration is not None
        assert configuration not in proposed
        proposed.append(configuration)
        assert (len(proposed), len(looked)) == (number + 1, number + 1)


def test_every_value_and_every_bound_is_in_few_configurations() -> None:
    assert list(MIXED.every_value()) == [
        {"epsilon": 0.1, "lam": 0.5, "beta": 0.0},
        {"epsilon": 0.5, "lam": 1.0, "beta": 1.0},
        {"epsilon": 0.1, "lam": 2.0, "beta": 0.0},
    ]
    assert list(Space().every_value()) == [{}]
