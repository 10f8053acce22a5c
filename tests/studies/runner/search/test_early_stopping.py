"""Early stopping: who goes on at a rung, on which folds, and what a stopped trial leaves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import optuna
import pytest

from fmim.runner.folder.study_file import write_study
from fmim.runner.schedule.progress import StudyProgress
from fmim.runner.search.selection import Outcome, select
from fmim.terminal.status import StudyStatus
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Metrics, SelectionFile, StudyFile
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Configuration
from fmim_spaces.searcher import History, Sampled
from fmim_spaces.stopping import StoppingRule, StoppingState
from fmim_spaces.successive_halving import ASHA, Rungs
from tests.support.documents import execution, fold_entry, proposals
from tests.support.simulation import Simulation, arm, hill, plan_of


@pytest.mark.parametrize("reduction", [2, 3, 4])
def test_who_goes_on_is_as_optunas_pruner_says(reduction: int) -> None:
    """Real Optuna as the oracle: the same values in the same order, with ties among them."""
    epochs = [1, reduction, reduction**2]
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=reduction)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0))
    rungs = Rungs(epochs, reduction, higher_is_better=True)
    values = [round((7919 * n % 101) / 101, 1) for n in range(60)]
    survived = 0
    for number, value in enumerate(values):
        trial = study.ask()
        history = []
        for epoch in range(1, epochs[-1] + 1):
            history.append(value + 0.01 * epoch)
            trial.report(history[-1], epoch)
            ours, theirs = not rungs.stops(number, history), not trial.should_prune()
            assert ours == theirs, (number, epoch)
            if not ours:
                break
        survived += ours
        study.tell(trial, value if ours else None, state=None if ours else optuna.trial.TrialState.PRUNED)
    assert 0 < survived < 40


@pytest.mark.parametrize(
    ("points", "higher", "histories", "stopped"),
    [
        ([1], True, [[0.5], [math.nan], [0.6]], [False, True, False]),  # not-a-number goes on only if it is alone
        ([1], False, [[0.5], [0.6], [0.4], [math.nan]], [False, True, False, True]),
        # One gone on with from a checkpoint is judged at the rungs that it passed unseen, and once at each.
        ([1, 3], True, [[0.5, 0.6, 0.7], [0.6, 0.6, 0.65, 0.9], [0.7, 0.7, 0.75, 0.1]], [False, True, False]),
    ],
)
def test_who_goes_on_where_values_are_odd(
    points: list[int], higher: bool, histories: list[list[float]], stopped: list[bool]
) -> None:
    rungs = Rungs(points, 2, higher_is_better=higher)
    assert [rungs.stops(number, values) for number, values in enumerate(histories)] == stopped
    assert not rungs.stops(2, [*histories[2], 0.1])


@pytest.fixture(scope="module")
def halved(tiny_bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """An early-stopping search of 27 with rungs after 1 and 3 of 9 epochs, on 3 folds and 4 slots."""
    plan = plan_of(arm("asha", ASHA(samples=27, reduction=3, rungs=2)), folds=3)
    simulation = Simulation(plan, tiny_bank, tmp_path_factory.mktemp("halved"))
    assert simulation.run(slots=4).complete
    return simulation


def search_records(simulation: Simulation) -> list[dict]:
    return [record for record in simulation.records.values() if record.stage == "search"]


def test_what_survives_the_first_fold_alone_is_trained_on_the_others(halved: Simulation) -> None:
    first = [record for record in search_records(halved) if record.fold == 0]
    ends = Counter((record.status, len(record.history)) for record in first)
    assert set(ends) == {("stopped", 1), ("stopped", 3), ("completed", 9)}
    assert ends.total() == 27
    assert 3 <= ends["completed", 9] <= 6  # a ninth, and those that came early
    best = max(first, key=lambda record: record.history[0].validation_mAP)
    assert best.status == "completed"
    worst = sorted(first, key=lambda record: record.history[0].validation_mAP)[:5]
    assert {record.status for record in worst} == {"stopped"}
    survivors = {str(r.configuration) for r in first if r.status == "completed"}
    others = [r for r in search_records(halved) if r.fold != 0]
    assert Counter(str(r.configuration) for r in others) == dict.fromkeys(survivors, 2)
    assert {r.status for r in others} == {"completed"}
    assert all(not spec.rungs for spec in halved.started if spec.fold != 0)


def test_a_stopped_trial_is_never_a_result(tiny_bank: Bank, tmp_path: Path) -> None:
    """Its metrics are kept apart, and even the best of them is not selected."""

    def late(spec: TrialSpec, epoch: int) -> float:
        return 0.99 if epoch == 1 and spec.number == 5 else hill(spec, epoch) if spec.number < 5 else 0.98 - 0.3 * epoch

    simulation = Simulation(plan_of(arm("asha", ASHA(samples=9)), folds=2), tiny_bank, tmp_path, late)
    simulation.run()
    stopped = [record for record in search_records(simulation) if record.status == "stopped"]
    assert max(record.stopped.validation["mAP"] for record in stopped) > 0.6
    assert all(record.metrics == Metrics() for record in stopped)
    selection = SelectionFile.read(tmp_path / "selection.json").arms["asha"]
    completed = {n for n in range(9) if f"asha.c{n:02d}.fold1" in simulation.records}
    assert selection.number in completed
    reasons = {score.excluded for score in selection.scores if score.mean is None}
    assert reasons == {"0 of 2 folds: stopped (fold 0)"}
    assert select([r.configuration for r in stopped], 2, [[r] for r in stopped], "mAP").number is None


def test_an_early_stopping_search_goes_on_after_a_kill_where_it_was(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(arm("asha", ASHA(samples=27, reduction=3, rungs=2)), folds=3)
    killed = Simulation(plan, tiny_bank, tmp_path)
    killed.run(slots=1, kill_after=20)
    whole = Simulation(plan, tiny_bank, tmp_path / "whole")
    whole.run(slots=1)
    before = dict(killed.records)
    assert killed.run(slots=1).complete
    assert proposals(tmp_path) == proposals(tmp_path / "whole")
    assert {trial: killed.records[trial] for trial in before} == before
    # One slot and the same records: what was seen at the rungs before the kill counts after it.
    assert killed.records == whole.records


def test_a_first_fold_that_failed_is_tried_again_and_then_the_others_follow(tiny_bank: Bank, tmp_path: Path) -> None:
    simulation = Simulation(plan_of(arm("asha", ASHA(samples=4, reduction=2))), tiny_bank, tmp_path)
    assert not simulation.run(bad={"asha.c00.fold0": "failed"}).complete
    assert not any(spec.id == "asha.c00.fold1" for spec in simulation.started)
    assert simulation.run().complete
    assert simulation.records["asha.c00.fold0"].status in ("completed", "stopped")


def test_rungs_are_at_validations_where_these_are_rarer_than_epochs(tiny_bank: Bank, tmp_path: Path) -> None:
    halving = arm("asha", ASHA(samples=27, reduction=3, rungs=2))
    halving = halving.model_copy(update={"settings": (*halving.settings, ("validate_every", 2))})
    plan = plan_of(halving, epochs=17, folds=3)  # validated after 2, 4, … 16 and 17: nine times
    assert plan.rungs_of(plan.arms[0]) == (2, 6)
    simulation = Simulation(plan, tiny_bank, tmp_path)
    simulation.run(slots=4)
    ends = {(record.status, len(record.history)) for record in search_records(simulation)}
    assert ends == {("stopped", 2), ("stopped", 6), ("completed", 17)}


# --- a stopping rule that the program does not know


class AtLeast(StoppingRule):
    """Stops a trial after the second validation if it is not good enough by then."""

    value: float

    def stopping_points(self, validations: int) -> tuple[int, ...]:
        return (2,) if validations > 2 else ()

    def start(self, validations: int, higher_is_better: bool) -> StoppingState:
        return NotGoodEnough(self.value, higher_is_better)


class NotGoodEnough(StoppingState):
    def __init__(self, value: float, higher_is_better: bool) -> None:
        assert higher_is_better
        self._value = value

    def stops(self, number: int, values: Sequence[float]) -> bool:
        return values[1] < self._value


class Demanding(Sampled):
    kind: Literal["demanding"] = "demanding"

    def suggest(self, history: History) -> Iterable[Configuration]:
        return history.random(history.number)

    @property
    def stopping_rule(self) -> AtLeast:
        return AtLeast(value=0.6)


def test_a_searcher_with_a_stopping_rule_is_stopped_screened_and_counted(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(arm("demanding", Demanding(samples=12)))
    assert (plan.exact, plan.rungs_of(plan.arms[0]), plan.warnings) == (False, (2,), [])
    write_study(tmp_path, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution(3))
    simulation = Simulation(plan, tiny_bank, tmp_path)
    assert simulation.run(slots=3).complete
    study = StudyFile.read(tmp_path / "study.json")
    progress = StudyProgress(study, {}, slots=1)
    searched = [record for record in simulation.records.values() if record.stage == "search"]
    first = {spec.number: spec for spec in simulation.started if spec.fold == 0 and spec.stage == "search"}
    good = {number for number, spec in first.items() if hill(spec, 2) >= 0.6}
    assert 0 < len(good) < 12
    assert Counter((r.fold, r.status, len(r.history)) for r in searched) == {
        (0, "stopped", 2): 12 - len(good),
        (0, "completed", 9): len(good),
        (1, "completed", 9): len(good),
    }
    for spec in simulation.started:
        progress.count(Outcome.of(simulation.records[spec.id]))
    total = 12 + len(good) + 1 + 3  # a replicate, and one of each reference
    assert (progress.done, progress.total) == (total, total)
    assert StudyStatus(tmp_path).complete
    facts = study.arms[0].searcher_facts.model_dump()
    assert facts == {"uses_results": False, "screens": True, "ordered": True}


def test_a_rule_that_never_gets_to_judge_is_warned_of() -> None:
    (warning,) = plan_of(arm("demanding", Demanding(samples=3)), epochs=2).warnings
    assert "demanding: with 2 validations there is no rung" in warning
