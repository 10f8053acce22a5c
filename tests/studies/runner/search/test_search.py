"""Searches on invented metrics: what is proposed, in whatever order trials end and however often they are killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Literal

import pytest

from fmim.runner.folder.study_file import write_study
from fmim.runner.search.tpe import TPE
from fmim_core.data.bank.bank import Bank
from fmim_core.records import StudyFile
from fmim_spaces.domain import Choice, Configuration, Space, Uniform
from fmim_spaces.searcher import History, Sampled, Searcher
from fmim_spaces.searchers import QMC, Random
from fmim_spaces.successive_halving import ASHA
from tests.support.documents import execution, fold_entry, proposals
from tests.support.simulation import MARGINS, MIXED, Simulation, arm, plan_of

SEARCHERS = [
    ("random", Random(samples=10), MIXED),
    ("qmc", QMC(samples=10), MIXED),
    ("tpe", TPE(samples=10, startup=3, in_flight=3), MIXED),
    ("tpe_ranges", TPE(samples=10, startup=3, in_flight=1), MARGINS),
    ("asha", ASHA(samples=10), MARGINS),
]
PLAN = plan_of(*(arm(*each) for each in SEARCHERS))
NAMES = [name for name, *_ in SEARCHERS]


@pytest.fixture(scope="module")
def sequential(tiny_bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """All searchers in one study, one trial after the other."""
    simulation = Simulation(PLAN, tiny_bank, tmp_path_factory.mktemp("sequential"))
    assert simulation.run().complete
    return simulation


@pytest.mark.parametrize("slots", [2, 5, 16])
def test_the_same_seed_proposes_the_same_whatever_order_trials_end_in(
    tiny_bank: Bank, tmp_path: Path, sequential: Simulation, slots: int
) -> None:
    shuffled = Simulation(PLAN, tiny_bank, tmp_path)
    assert shuffled.run(slots, seed=slots).complete
    assert proposals(tmp_path) == proposals(sequential.out)
    exact = [name for name in NAMES if name != "asha"]
    ours, theirs = ({t.id for t in s.started if t.arm in exact} for s in (shuffled, sequential))
    assert ours == theirs


def test_the_same_seed_proposes_the_same_when_killed_and_gone_on_with(
    tiny_bank: Bank, tmp_path: Path, sequential: Simulation
) -> None:
    killed = Simulation(PLAN, tiny_bank, tmp_path)
    for part in range(12):
        killed.run(slots=4, seed=part, kill_after=11)
    assert killed.run(slots=3).complete
    assert proposals(tmp_path) == proposals(sequential.out)
    again = Counter(t.id for t in killed.started)
    assert max(again.values()) <= 13  # the killed ones begin anew, ...
    before = len(killed.started)
    assert killed.run().complete
    assert len(killed.started) == before  # ... the others never


def test_other_seeds_and_other_arms_propose_otherwise(tiny_bank: Bank, tmp_path: Path, sequential: Simulation) -> None:
    other = Simulation(plan_of(*(arm(*each) for each in SEARCHERS), seed=1), tiny_bank, tmp_path)
    other.run()
    for name in NAMES:
        assert other.configurations(name) != sequential.configurations(name)
    assert sequential.configurations("tpe_ranges")[0] != sequential.configurations("asha")[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_configuration_is_trained_once_on_every_fold_and_recorded_as_it_was_trained(
    sequential: Simulation, name: str
) -> None:
    found = sequential.configurations(name)
    assert len({tuple(c.items()) for c in found}) == len(found) == 10
    assert [entry.configuration for entry in proposals(sequential.out)[name]] == found
    searched = [spec for spec in sequential.started if (spec.arm, spec.stage) == (name, "search")]
    assert len({spec.id for spec in searched}) == len(searched)
    for spec in searched:
        assert spec.train.margins.epsilon == spec.configuration["epsilon"]
        assert spec.train.margins.beta == spec.configuration["beta"]
        assert all(value == float(f"{value:.4g}") for value in spec.configuration.values())


def test_a_sobol_search_fills_every_quarter_and_every_choice_evenly(tiny_bank: Bank, tmp_path: Path) -> None:
    simulation = Simulation(plan_of(arm("qmc", QMC(samples=16))), tiny_bank, tmp_path)
    simulation.run()
    found = simulation.configurations("qmc")
    cells = Counter((int((c["epsilon"] - 0.05) / 0.2375), int(c["beta"] * 4)) for c in found)
    assert set(cells.values()) == {1}
    assert len(cells) == 16


def test_an_estimators_proposal_saw_the_first_results_and_no_others(sequential: Simulation) -> None:
    for name, in_flight in (("tpe", 3), ("tpe_ranges", 1)):
        for number, entry in enumerate(proposals(sequential.out)[name]):
            seen = range(max(0, number - in_flight + 1))
            assert entry.values == pytest.approx([sequential.mean(name, n) for n in seen], abs=1e-12)
    for name in ("random", "qmc", "asha"):
        assert {tuple(entry.values) for entry in proposals(sequential.out)[name]} == {()}


def test_an_estimator_finds_better_configurations_than_chance(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(arm("tpe", TPE(samples=24, startup=6)), arm("random", Random(samples=24)))
    simulation = Simulation(plan, tiny_bank, tmp_path)
    simulation.run(slots=4)
    tpe, random = (fmean(simulation.mean(name, n) for n in range(12, 24)) for name in ("tpe", "random"))
    assert tpe > random + 0.03  # 0.046 with Optuna 4.5


@pytest.mark.parametrize("kind", [Random, TPE, QMC, ASHA])
def test_more_samples_go_on_behind_the_first(tiny_bank: Bank, tmp_path: Path, kind: type) -> None:
    """With the same seed, 4 and then 8 are 8 distinct ones; Optuna's sampler, started again, repeats the 4."""
    first = Simulation(plan_of(arm("x", kind(samples=4))), tiny_bank, tmp_path)
    assert first.run(slots=2).complete
    more = Simulation(plan_of(arm("x", kind(samples=8))), tiny_bank, tmp_path)
    more.records = first.records
    assert more.run(slots=2).complete
    entries = [entry.configuration for entry in proposals(tmp_path)["x"]]
    assert entries[:4] == first.configurations("x")
    assert len({tuple(c.items()) for c in entries}) == 8
    assert not {spec.id for spec in more.started} & {spec.id for spec in first.started if spec.stage == "search"}
    whole = Simulation(plan_of(arm("x", kind(samples=8))), tiny_bank, tmp_path / "whole")
    whole.run()
    assert whole.configurations("x") == entries


FINITE = Space(choices=(*MIXED.choices, Choice(path="margins.beta", values=(0.1, 0.2))))
NARROW = Space(
    choices=(Choice(path="margins.beta", values=(0.3,)),),
    ranges=(Uniform(path="margins.epsilon", low=0.5, high=0.5002),),
)


@pytest.mark.parametrize(
    ("searcher", "space", "points"),
    [(kind(samples=50), FINITE, list(FINITE.configurations())) for kind in (Random, TPE, QMC, ASHA)]
    + [(Random(samples=9), NARROW, [{"beta": 0.3, "epsilon": value} for value in (0.5, 0.5001, 0.5002)])],
)
def test_a_space_that_is_exhausted_ends_the_search(
    tiny_bank: Bank, tmp_path: Path, searcher: Searcher, space: Space, points: list[dict]
) -> None:
    simulation = Simulation(plan_of(arm("x", searcher, space)), tiny_bank, tmp_path)
    assert simulation.run(slots=3).complete
    found = simulation.configurations("x")
    assert len(found) == len(points)
    assert all(point in found for point in points)


def test_a_configuration_with_a_failed_fold_is_told_as_failed_and_what_came_after_it_stands(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    plan = plan_of(arm("tpe", TPE(samples=8, startup=2, in_flight=1)))
    simulation = Simulation(plan, tiny_bank, tmp_path)
    bad = {"tpe.c01.fold1": "failed", "tpe.c02.fold0": "diverged"}
    assert not simulation.run(bad=bad).complete
    entries = proposals(tmp_path)["tpe"]
    assert [value is None for value in entries[7].values] == [False, True, True, False, False, False, False]
    before = len(simulation.started)
    assert simulation.run().complete
    assert [spec.id for spec in simulation.started[before:] if spec.stage == "search"] == ["tpe.c01.fold1"]
    assert proposals(tmp_path)["tpe"] == entries


# --- a searcher that the program does not know: asked what it needs, never what it is called


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


@pytest.mark.parametrize("in_flight", [1, 3])
@pytest.mark.parametrize("slots", [1, 5])
def test_an_adaptive_searcher_is_given_its_results_for_every_proposal(
    tiny_bank: Bank, tmp_path: Path, in_flight: int, slots: int
) -> None:
    plan = plan_of(arm("halfway", Halfway(samples=9, in_flight=in_flight)), arm("random", Random(samples=9)))
    write_study(tmp_path, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution(slots))
    simulation = Simulation(plan, tiny_bank, tmp_path)
    assert simulation.run(slots).complete
    entries = proposals(tmp_path)["halfway"]
    assert len(entries) == 9
    for number, entry in enumerate(entries):
        seen = range(max(0, number - in_flight + 1))
        assert entry.values == pytest.approx([simulation.mean("halfway", n) for n in seen], abs=1e-12)
    facts = [each.searcher_facts.model_dump() for each in StudyFile.read(tmp_path / "study.json").arms]
    assert facts[0] == {"uses_results": True, "screens": False, "ordered": True}
    assert facts[1] == {"uses_results": False, "screens": False, "ordered": False}
    # What waits for its own results goes first, so that it is not the last to end.
    assert [spec.arm for spec in simulation.started][:2] == ["halfway", "halfway"]
