"""A searcher and a stopping rule that the program does not know: asked what they need, never what they are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import pytest

from fmim.plan import Plan
from fmim.runner.folder.study_file import write_study
from fmim.runner.schedule.progress import StudyProgress
from fmim.runner.search.selection import Outcome
from fmim.terminal.status import StudyStatus
from fmim_core.data.bank.bank import Bank
from fmim_core.records import ProposalsFile, StudyFile
from fmim_spaces.domain import Configuration
from fmim_spaces.searcher import History, Sampled
from fmim_spaces.searchers import Random
from fmim_spaces.stopping import StoppingRule, StoppingState
from tests.support.documents import execution, fold_entry
from tests.support.simulation import Simulation, arm, hill, plan_of

FOLDS = [fold_entry(0), fold_entry(1)]


class Halfway(Sampled):
    """Goes half the way from a random configuration to the best one known."""

    kind: Literal["halfway"] = "halfway"
    in_flight: int = 3

    def results_needed(self, number: int) -> int:
        return max(0, number - self.in_flight + 1)

    def suggest(self, history: History) -> Iterable[Configuration]:
        known = [(value, c) for c, value in history.results if value is not None]
        for drawn in history.random(history.number):
            best = max(known, key=lambda each: each[0])[1] if known else drawn
            yield {p.name: p.rounded((drawn[p.name] + best[p.name]) / 2) for p in history.space.ranges}


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


def run(plan: Plan, bank: Bank, out: Path, slots: int = 1) -> Simulation:
    write_study(out, plan, bank, FOLDS, execution(slots))
    simulation = Simulation(plan, bank, out)
    assert simulation.run(slots).complete
    return simulation


@pytest.mark.parametrize("in_flight", [1, 3])
@pytest.mark.parametrize("slots", [1, 5])
def test_an_adaptive_searcher_is_given_its_results_for_every_proposal(
    tiny_bank: Bank, tmp_path: Path, in_flight: int, slots: int
) -> None:
    plan = plan_of(arm("halfway", Halfway(samples=9, in_flight=in_flight)), arm("random", Random(samples=9)))
    simulation = run(plan, tiny_bank, tmp_path, slots)
    entries = ProposalsFile.read(tmp_path / "proposals.json").arms["halfway"]
    assert len(entries) == 9
    for number, entry in enumerate(entries):
        seen = range(max(0, number - in_flight + 1))
        assert entry.values == pytest.approx([simulation.mean("halfway", n) for n in seen], abs=1e-12)
    facts = [each.searcher_facts.model_dump() for each in StudyFile.read(tmp_path / "study.json").arms]
    assert facts[0] == {"uses_results": True, "screens": False, "ordered": True}
    assert facts[1] == {"uses_results": False, "screens": False, "ordered": False}
    # What waits for its own results goes first, so that it is not the last to end.
    assert [spec.arm for spec in simulation.started][:2] == ["halfway", "halfway"]


def test_a_searcher_with_a_stopping_rule_is_stopped_screened_and_counted(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(arm("demanding", Demanding(samples=12)))
    assert (plan.exact, plan.rungs_of(plan.arms[0]), plan.warnings) == (False, (2,), [])
    simulation = run(plan, tiny_bank, tmp_path / "out", slots=3)
    study = StudyFile.read(tmp_path / "out" / "study.json")
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
    assert StudyStatus(tmp_path / "out").complete
    facts = study.arms[0].searcher_facts.model_dump()
    assert facts == {"uses_results": False, "screens": True, "ordered": True}


def test_a_rule_that_never_gets_to_judge_is_warned_of() -> None:
    (warning,) = plan_of(arm("demanding", Demanding(samples=3)), epochs=2).warnings
    assert "demanding: of 2 validations there is no rung at which to stop trials" in warning
