"""The order of trials: the longest first, the same after an interruption; what it does for the makespan; selection."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from fmim.declare import Arm, Study
from fmim.plan import Plan
from fmim.plan.workload import Workload
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.search.selection import Outcome, select
from fmim.runner.search.tpe import TPE
from fmim_core.data.bank.bank import Bank
from fmim_core.models.base import multiply_adds
from fmim_core.records import FixedSelection, Record, SelectionFile
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Choice, Space, Uniform
from fmim_spaces.searcher import Searcher
from fmim_spaces.searchers import Grid, Random
from fmim_spaces.successive_halving import ASHA
from tests.support.mini_study import MINI, mini_plan
from tests.support.simulation import Simulation, Slots, record_of

# Of the small net at 24 px: convolutions of 8×8, 4×4 and 4×4 that leave 6, 3 and 1 pixels a side; 512 features to 16.
MULTIPLY_ADDS = 8**2 * 6**2 * 16 + 4**2 * (3**2 * 16 * 32 + 1 * 32 * 32) + 512 * 16
RANGE = Uniform(path="margins.epsilon", low=0.1, high=0.9)


def arm(name: str, steps: Iterable[int], epsilons: int = 1, searcher: Searcher | None = None) -> Arm:
    """A triplet arm whose configurations have these numbers of steps in an epoch, each at so many margins.

    With a searcher the margins come from a range instead.
    """
    choices = [Choice(path="batches.per_epoch", values=tuple(steps))]
    if searcher is None:
        choices.append(Choice(path="margins.epsilon", values=tuple((n + 1) / 10 for n in range(epsilons))))
    space = Space(choices=tuple(choices), ranges=() if searcher is None else (RANGE,))
    settings = (("loss.kind", "triplet"), ("margins.kind", "fixed"))
    return Arm(name=name, search="S", settings=settings, space=space, searcher=searcher or Grid())


def plan_of(*arms: Arm, replicates: int = 2) -> Plan:
    study = Study(name="order", title="Order", question="Which first?", presets=(MINI,), arms=arms)
    return Plan(study, MINI, 0, replicates)


def record(spec: TrialSpec) -> Record:
    """As a trial leaves it; of an arm's configurations the later ones are the better ones."""
    return record_of(spec, "completed", spec.train.epochs, lambda spec, epoch: 0.5 + spec.number / 1000)


def steps_of(spec: TrialSpec) -> int:
    """Its steps in an epoch."""
    assert spec.train.batches.per_epoch is not None
    return spec.train.batches.per_epoch


def due(dispatcher: Dispatcher) -> list[TrialSpec]:
    """All that can be handed out before anything ends."""
    return list(iter(dispatcher.next, None))


FIXED = plan_of(arm("one_short", [2]), arm("short", [2], epsilons=3), arm("mixed", [1, 6]), arm("long", [4]))


def test_searches_begin_with_the_longest_trials_and_among_equals_with_the_larger_arm(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    specs = due(Dispatcher(FIXED, tiny_bank, tmp_path, {}))
    # mixed.c00 has one step alone, but a replicate of six may follow.
    expected = ["mixed.c01", "long.c00", "mixed.c00", "short.c00", "short.c01", "short.c02", "one_short.c00"]
    assert [spec.id for spec in specs] == [f"{name}.fold{fold}" for name in expected for fold in (0, 1)]


def test_of_the_replicates_that_are_due_the_longest_come_first_in_whatever_order_searches_ended(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    dispatcher = Dispatcher(FIXED, tiny_bank, tmp_path, {})
    specs = due(dispatcher)
    random.Random(0).shuffle(specs)
    for spec in specs:
        dispatcher.finished(spec, record(spec))
    expected = ["mixed.c01", "long.c00", "short.c02", "one_short.c00"]
    replicates = [f"{name}.seed{seed}" for name in expected for seed in (0, 1)]
    *found, _, _, _, _ = (spec.id for spec in due(dispatcher))  # and the trials of references behind them
    assert found == replicates


def in_order(plan: Plan, specs: Iterable[TrialSpec]) -> list[TrialSpec]:
    """The rule again, of grids: replicates, then by steps of what is ahead, the arm's size and place, own order."""
    arms = {arm.name: (place, arm) for place, arm in enumerate(plan.arms)}
    longest = {arm.name: max(arm.space.choices[0].values) for arm in plan.arms}

    def key(spec: TrialSpec) -> tuple[object, ...]:
        place, arm = arms[spec.arm]
        ahead = steps_of(spec) + (longest[arm.name] if spec.stage == "search" else 0)
        return spec.stage == "search", -ahead, -arm.budget, place, spec.number, spec.replicate

    return sorted(specs, key=key)


def test_after_an_interruption_the_rest_comes_in_the_same_order(tiny_bank: Bank, tmp_path: Path) -> None:
    every = due(Dispatcher(FIXED, tiny_bank, tmp_path, {}))
    for seed in range(10):
        out = tmp_path / str(seed)
        out.mkdir()
        done = random.Random(seed).sample(every, random.Random(-seed).randrange(len(every)))
        running = Dispatcher(FIXED, tiny_bank, out, {})
        assert due(running) == every
        for spec in done:
            running.finished(spec, record(spec))
        ready = [spec for spec in due(running) if spec.stage == "replicate"]
        resumed = due(Dispatcher(FIXED, tiny_bank, out, {spec.id: Outcome.of(record(spec)) for spec in done}))
        assert resumed == [*ready, *(spec for spec in every if spec not in done)]
        assert resumed == in_order(FIXED, resumed)


def test_searches_that_depend_on_an_order_keep_it_and_the_others_give_way_to_those_that_wait(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    steps = [1, 6, 3]
    plan = plan_of(
        arm("grid", [9]),
        arm("asha", steps, searcher=ASHA(samples=8, reduction=2)),
        arm("random", steps, searcher=Random(samples=8)),
        arm("tpe", steps, searcher=TPE(samples=8, startup=2, in_flight=6)),
        arm("long_tpe", [8], searcher=TPE(samples=8, startup=2)),
    )
    specs = due(Dispatcher(plan, tiny_bank, tmp_path, {}))
    order = list(dict.fromkeys(spec.arm for spec in specs))
    assert order == ["long_tpe", "tpe", "grid", "asha", "random"]
    numbers = {name: [spec.number for spec in specs if spec.arm == name and spec.fold == 0] for name in order}
    lengths = {name: [steps_of(spec) for spec in specs if spec.arm == name] for name in order}
    assert numbers["asha"] == list(range(8))
    assert numbers["tpe"] == list(range(6))
    assert lengths["asha"] != sorted(lengths["asha"], reverse=True)
    assert lengths["random"] == sorted(lengths["random"], reverse=True)
    assert numbers["random"] != sorted(numbers["random"])  # the same configurations with the same numbers
    assert due(Dispatcher(plan, tiny_bank, tmp_path, {})) == specs  # from proposals.json


def test_a_trial_is_as_long_as_its_images_times_its_network(tiny_bank: Bank) -> None:
    workload = Workload(FIXED, tiny_bank.development())
    config = FIXED.train_config(FIXED.arms[3], {"per_epoch": 4, "epsilon": 0.1})
    shown, validated = 2 * 4 * 16, len(workload.splits[0][1].validation)  # epochs × batches × 4 subjects of 4 images
    assert workload.length(config, 1, test_images=7) == 3 * shown + 2 * validated
    assert workload.length(config, None, test_images=7) == 3 * shown + 7
    small = arm("small", [4])
    wide = small.model_copy(update={"name": "wide", "settings": (*small.settings, ("model.embedding_dim", 512))})
    plan = plan_of(small, wide)
    assert multiply_adds(plan.train_configs()[1].model, 24) == MULTIPLY_ADDS + 512 * (512 - 16)
    workload = Workload(plan, tiny_bank.development())
    for config, each in zip(plan.train_configs(), (MULTIPLY_ADDS, MULTIPLY_ADDS + 512 * (512 - 16)), strict=True):
        assert workload.length(config, None, test_images=7) == (3 * shown + 7) * each


class Steps:
    """A clock by which a trial takes as many seconds as it has steps."""

    def __init__(self) -> None:
        self.total = 0
        self.longest: dict[tuple[str, str], int] = {}

    def __call__(self, spec: TrialSpec, after: int, until: int) -> float:
        steps = (until - after) * steps_of(spec)
        self.total += steps
        self.longest[spec.arm, spec.stage] = max(steps, self.longest.get((spec.arm, spec.stage), 0))
        return steps

    def bounds(self, slots: int) -> tuple[float, float]:
        """What no order can beat: all work shared out evenly, or a search trial and its arm's replicate in a row.

        And Graham's (1969), which any order keeps that leaves no slot idle while a trial is due.
        """
        arms = {arm for arm, stage in self.longest if stage == "search"}
        chain = max(self.longest[arm, "search"] + self.longest[arm, "replicate"] for arm in arms)
        return max(self.total / slots, chain), self.total / slots + (1 - 1 / slots) * chain


def mixed_study(seed: int) -> Plan:
    """Eight arms of 1 to 6 configurations, whose trials have 1 to 40 steps an epoch."""
    rng = random.Random(seed)
    arms = []
    for number in range(8):
        steps = {round(40 ** rng.random()) for _ in range(rng.choice((1, 1, 2)))}
        arms.append(arm(f"arm{number}", sorted(steps), epsilons=rng.randint(1, 3)))
    return plan_of(*arms, replicates=3)


@pytest.mark.parametrize("slots", [2, 8])
def test_with_the_longest_first_studies_end_near_what_no_order_can_beat(
    tiny_bank: Bank, tmp_path: Path, slots: int
) -> None:
    for seed in range(12):
        out, clock = tmp_path / str(seed), Steps()
        out.mkdir()
        makespan = Slots(Dispatcher(mixed_study(seed), tiny_bank, out, {}), clock, slots).run()
        least, most = clock.bounds(slots)
        assert least <= makespan <= min(most, {2: 1.01, 8: 1.07}[slots] * least)


def selected(folder: Path) -> dict[str, FixedSelection]:
    """Return the selections on disk, by arm."""
    return SelectionFile.read(folder / "selection.json").arms


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
    before, started = selected(tmp_path), len(simulation.started)
    assert before["triplet_grid"].configuration == {"epsilon": 0.25}
    assert simulation.run(slots=2).complete
    assert [spec.id for spec in simulation.started[started:]] == [
        "triplet_grid.c01.fold0",
        "triplet_grid.c01.seed0",
        "triplet_grid.c01.seed1",
    ]
    after = selected(tmp_path)
    assert after["adatriplet_automargin"] == before["adatriplet_automargin"]
    assert after["triplet_grid"].configuration == {"epsilon": 0.5}
    assert [old.configuration for old in after["triplet_grid"].previous] == [{"epsilon": 0.25}]
    assert simulation.run().complete
    assert len(simulation.started) == started + 3


def test_a_configuration_that_lost_a_fold_is_not_selected_and_says_why(tiny_bank: Bank, tmp_path: Path) -> None:
    dispatcher = Simulation(mini_plan(), tiny_bank, tmp_path).run(bad={"triplet_grid.c01.fold0": "diverged"})
    selection = selected(tmp_path)["triplet_grid"]
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
    assert selected(tmp_path)["triplet_grid"].configuration is None
    assert not dispatcher.complete


def test_selection_is_the_best_mean_and_the_first_among_equals() -> None:
    def found(*values: list[float]) -> list[list[Outcome]]:
        return [
            [Outcome("a", "search", 0, f, "completed", {"mAP": v}) for f, v in enumerate(folds)] for folds in values
        ]

    configurations = [{"epsilon": 0.1}, {"epsilon": 0.2}, {"epsilon": 0.3}]
    chosen = select(configurations, 2, found([0.5, 0.7], [0.8, 0.6], [0.6, 0.8]), "mAP")
    assert (chosen.number, chosen.score) == (1, pytest.approx(0.7))
    undefined = select(configurations, 2, found([0.1, 0.1], [0.9, math.nan], [0.2, 0.2]), "mAP")
    assert undefined.configuration == {"epsilon": 0.3}
    assert undefined.scores[1].excluded == "1 of 2 folds: 1 undefined"
