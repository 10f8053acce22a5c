"""Equal trials of one study: one is trained, whatever runs beside it and however often it is interrupted."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from fmim.runner.reuse.equal_trials import EarlierTrials, EqualTrials
from fmim.runner.reuse.shared_records import SharedRecords
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.search.selection import Outcome
from fmim.runner.search.tpe import TPE
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Record, Status, TrialCounts, read_records
from fmim_core.trial.checkpoint import checkpoint_path, write_checkpoint
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Choice, Space
from fmim_spaces.searchers import Grid
from fmim_spaces.successive_halving import ASHA
from tests.support.documents import comparable
from tests.support.simulation import MIXED, Simulation, arm, hill, plan_of, record_of


def grid(*epsilons: float, betas: tuple[float, ...] = (0.25, 0.5)) -> Space:
    return Space(
        choices=(Choice(path="margins.epsilon", values=epsilons), Choice(path="margins.beta", values=betas)),
    )


# Both grids find the hill's top, ε = 0.4 and β = 0.25, which is all that the last arm has.
PLAN = plan_of(
    arm("wide", Grid(), grid(0.2, 0.4, 0.6)),
    arm("narrow", Grid(), grid(0.4, 0.8)),
    arm("adaptive", TPE(samples=5, startup=2), MIXED),
    arm("halved", ASHA(samples=6), grid(0.2, 0.4, 0.6)),
    arm("given", Grid(), grid(0.4, betas=(0.25,))),
    replicates=3,
)


def trained(simulation: Simulation) -> Counter[str]:
    """How often a training has begun, by fingerprint, of those whose search cannot stop them."""
    return Counter(spec.fingerprint for spec in simulation.started if not spec.rungs)


def as_trained(simulation: Simulation) -> dict[str, str]:
    return {trial: comparable(record) for trial, record in simulation.records.items()}


@pytest.fixture(scope="module")
def each(tiny_bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    simulation = Simulation(PLAN, tiny_bank, tmp_path_factory.mktemp("each"))
    simulation.run()
    return simulation


@pytest.mark.parametrize("slots", [1, 3, 8])
def test_each_training_runs_once_with_the_results_of_training_all(
    slots: int, each: Simulation, tiny_bank: Bank, tmp_path: Path
) -> None:
    simulation = Simulation(PLAN, tiny_bank, tmp_path, reuse=True)
    dispatcher = simulation.run(slots=slots, seed=slots)
    assert dispatcher.complete
    if slots == 1:  # of a search that stops trials, when it does depends on what runs beside it
        assert as_trained(simulation) == as_trained(each)
    assert set(trained(simulation).values()) == {1}
    assert trained(simulation).keys() == trained(each).keys() or slots > 1
    assert {record.trial: record for record in read_records(tmp_path)} == simulation.records
    for record in simulation.records.values():
        if record.reused_from is not None:
            origin = simulation.records[record.reused_from.trial]
            assert (record.reused_from.folder, record.reused_from.study) == (None, "searches")
            assert (origin.reused_from, origin.fingerprint, origin.cost) == (None, record.fingerprint, record.cost)
    reused = Counter(record.arm for record in simulation.records.values() if record.reused_from)
    shared = {name: reused[name] for name in ("narrow", "given", "wide")}
    # Two configurations of `narrow` are in `wide`, one is all of `given`; three arms have the same winner.
    assert sum(shared.values()) == 2 * 2 + 2 + 2 * 3


@pytest.mark.parametrize("seed", range(2))
def test_an_interrupted_study_goes_on_without_training_anything_twice(
    seed: int, tiny_bank: Bank, tmp_path: Path
) -> None:
    plan = plan_of(*(one for one in PLAN.arms if one.name != "halved"), replicates=3)
    whole = Simulation(plan, tiny_bank, tmp_path / "whole")
    whole.run()
    rng, killed = random.Random(seed), Simulation(plan, tiny_bank, tmp_path / "killed", reuse=True)
    while len(killed.records) < len(whole.records):
        killed.run(slots=rng.randint(1, 4), seed=rng.randrange(1000), kill_after=rng.randint(2, 8))
    assert as_trained(killed) == as_trained(whole)
    finished = Counter(record.fingerprint for record in killed.records.values() if record.reused_from is None)
    assert set(finished.values()) == {1}
    # What had begun goes on, and no equal trial begins instead.
    begun: dict[str, set[str]] = {}
    for spec in killed.started:
        begun.setdefault(spec.fingerprint, set()).add(spec.id)
    assert {len(trials) for trials in begun.values()} == {1}


def test_what_had_begun_goes_on_though_an_equal_trial_is_due_before_it(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(arm("wide", Grid(), grid(0.2, 0.4, betas=(0.25,))), arm("given", Grid(), grid(0.4, betas=(0.25,))))

    def started(outcomes: dict[str, Outcome]) -> Dispatcher:
        shared = SharedRecords(tmp_path, EarlierTrials(tmp_path.parent), over=outcomes)
        return Dispatcher(plan, tiny_bank, tmp_path, outcomes, shared=shared)

    outcomes, trials = dict[str, Outcome](), started({})
    searched = {spec.id: spec for spec in iter(trials.next, None)}
    assert set(searched) == {f"wide.c0{number}.fold{fold}" for number in (0, 1) for fold in (0, 1)}
    handed_out = []
    for name in ("wide.c01.fold0", "wide.c01.fold1", "wide.c00.fold0", "wide.c00.fold1"):
        record = record_of(searched[name], "completed", 9, hill)
        record.save(tmp_path)
        trials.finished(searched[name], record)
        handed_out += [spec.id for spec in iter(trials.next, None)]
    # The winner of `given` was fixed first, so that its replicate runs, and the equal one of `wide` waits.
    assert handed_out[0] == "given.c00.seed0"
    assert "wide.c01.seed0" not in handed_out
    [given] = [one for one in plan.possible(tiny_bank, lambda arm, split: ()) if one.id == "given.c00.seed0"]
    write_checkpoint(checkpoint_path(tmp_path, given.id), {"fingerprint": given.fingerprint, "complete": False})

    outcomes = {record.trial: Outcome.of(record) for record in read_records(tmp_path)}
    assert "given.c00.fold0" in outcomes
    again = [spec.id for spec in iter(started(outcomes).next, None)]
    assert ("given.c00.seed0" in again, "wide.c01.seed0" in again) == (True, False)


def test_nobody_waits_for_a_trial_that_another_plan_had_begun(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(arm("wide", Grid(), grid(0.2, 0.4, betas=(0.25,))), arm("given", Grid(), grid(0.4, betas=(0.25,))))
    simulation = Simulation(plan, tiny_bank, tmp_path, reuse=True)
    simulation.run(slots=2, kill_after=3)
    (begun,) = (tmp_path / "checkpoints").iterdir()
    begun.rename(begun.with_name("another.c00.fold0.pt"))
    assert simulation.run(slots=2).complete


def equal_ones(simulation: Simulation, spec: TrialSpec) -> list[Record]:
    return [record for record in simulation.records.values() if record.fingerprint == spec.fingerprint]


@pytest.mark.parametrize(("status", "trainings"), [("diverged", 1), ("failed", 2)])
def test_a_diverged_trial_is_a_result_and_a_failed_one_is_trained_anew(
    status: Status, trainings: int, tiny_bank: Bank, tmp_path: Path
) -> None:
    plan = plan_of(arm("wide", Grid(), grid(0.2, 0.4)), arm("narrow", Grid(), grid(0.4, betas=(0.25,))), replicates=1)
    simulation = Simulation(plan, tiny_bank, tmp_path, reuse=True)
    simulation.run(slots=3, bad={"wide.c02.fold1": status})
    [spec] = [one for one in simulation.started if one.id == "wide.c02.fold1"]
    assert trained(simulation)[spec.fingerprint] == trainings
    found = {record.trial: (record.status, record.reused_from is not None) for record in equal_ones(simulation, spec)}
    after = (status, True) if status == "diverged" else ("completed", False)
    assert found == {"wide.c02.fold1": (status, False), "narrow.c00.fold1": after}


def test_a_plan_knows_beforehand_how_many_trials_are_equal(each: Simulation, tiny_bank: Bank, tmp_path: Path) -> None:
    equal = EqualTrials(PLAN, tiny_bank, EarlierTrials(tmp_path))
    found = equal.reused()
    assert (found.reused, dict(found.by_folder)) == (
        {"search": 6, "variation": 0, "replicate": 6, "reference": 0},
        {"this study": 12},
    )
    assert found.to_train == PLAN.trials - 12
    assert equal.by_arm({"wide": 2, "narrow": 0}) == {
        "narrow": TrialCounts(search=4, replicate=3),
        "given": TrialCounts(search=2, replicate=3),
    }
    assert equal.by_arm({"wide": 0, "narrow": 0})["given"] == TrialCounts(search=2, replicate=3)
    assert EqualTrials(PLAN, tiny_bank, EarlierTrials(tmp_path, reuse=False)).reused().trials == 0
