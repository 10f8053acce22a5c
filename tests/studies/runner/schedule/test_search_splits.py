"""The search on other splits into folds: which trials there are, what is selected, and what the study keeps of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from fmim import catalogue
from fmim.plan import Plan
from fmim.runner.folder.outcomes import outcomes_of_plan
from fmim.runner.folder.study_file import write_study
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.search.tpe import TPE
from fmim.terminal.status import StudyStatus
from fmim_core.data.bank.bank import Bank
from fmim_core.records import PlannedTrials, ProposalsFile, SelectionFile, StudyFile
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from fmim_reports.reading.results import read_results
from fmim_spaces.domain import Choice, Space
from fmim_spaces.searchers import Grid
from fmim_spaces.successive_halving import ASHA
from tests.support.documents import execution, fold_entry
from tests.support.mini_study import mini_plan
from tests.support.simulation import MIXED, Simulation, arm, hill, plan_of

GRID = Space(choices=(Choice(path="margins.epsilon", values=(0.1, 0.4)), Choice(path="margins.beta", values=(0.3,))))
PLAN = plan_of(
    arm("grid", Grid(), GRID), arm("tpe", TPE(samples=4, startup=2), MIXED), arm("asha", ASHA(samples=6)), replicates=3
)
THREE = replace(PLAN, search_splits=3)


def by_split(spec: TrialSpec, epoch: int) -> float:
    """An mAP by which the grid's first configuration wins on split 1 alone."""
    favoured = spec.search_split == 1 and spec.configuration.get("epsilon") == 0.1
    return hill(spec, epoch) + 0.2 * favoured


def ended(simulation: Simulation, name: str) -> set[str]:
    """The replicates of an arm that were started."""
    return {spec.id for spec in simulation.started if spec.arm == name and spec.stage == "replicate"}


def test_the_studys_own_trials_are_the_same_with_and_without_other_splits(tiny_bank: Bank) -> None:
    alone, three = (
        replace(mini_plan(replicates=3), search_splits=splits).possible(tiny_bank, lambda arm, search_split: ())
        for splits in (1, 3)
    )
    own = [one for one in three if not one.search_split]
    assert [(one.id, one.fingerprint, one.seed) for one in own] == [
        (one.id, one.fingerprint, one.seed) for one in alone
    ]
    assert len({spec.id for spec in three}) == len(three) == len(alone) + 2 * (6 + 3)
    searched = [spec for spec in three if spec.stage == "search"]
    assert len({spec.fingerprint for spec in searched}) == len(searched)
    seeds = {(spec.search_split, spec.replicate): spec.seed for spec in searched}
    assert len(set(seeds.values())) == len(seeds) == 6
    assert all(seeds[spec.search_split, spec.replicate] == spec.seed for spec in searched)  # shared by all arms


def test_the_last_trial_of_another_split_is_what_a_replicate_of_its_winner_would_be(tiny_bank: Bank) -> None:
    plan = replace(mini_plan(), search_splits=2)
    configuration = {"epsilon": 0.5}
    own = plan.replicate(plan.arms[1], 1, configuration, tiny_bank)
    (last,) = plan.replicate(plan.arms[1], 1, configuration, tiny_bank, search_split=1)
    assert (last.id, own[1].id) == ("triplet_grid.c01.split1.seed1", "triplet_grid.c01.seed1")
    assert (last.seed, last.fingerprint, last.fold) == (own[1].seed, own[1].fingerprint, None)


def test_each_split_selects_and_ends_in_one_trial_where_it_selects_otherwise(tiny_bank: Bank, tmp_path: Path) -> None:
    simulation = Simulation(THREE, tiny_bank, tmp_path, by_split)
    dispatcher = simulation.run(slots=3)
    assert dispatcher.complete
    selection = SelectionFile.read(tmp_path / "selection.json")
    assert selection.winner("grid") == {"epsilon": 0.4, "beta": 0.3}
    assert selection.other_winners("grid", 3) == {1: {"epsilon": 0.1, "beta": 0.3}}
    assert set(selection.other_splits) == {1, 2}
    assert ended(simulation, "grid") == {"grid.c01.seed0", "grid.c01.seed1", "grid.c01.seed2", "grid.c00.split1.seed1"}
    searched = Counter((spec.arm, spec.search_split) for spec in simulation.started if spec.stage == "search")
    assert {searched["grid", split] for split in range(3)} == {4}
    assert {searched["tpe", split] for split in range(3)} == {8}
    proposals = ProposalsFile.read(tmp_path / "proposals.json").by_split
    drawn = {str([one.configuration for one in proposals[split]["tpe"]]) for split in range(3)}
    assert len(drawn) == 3


@pytest.mark.parametrize("kill_after", [5, 40])
def test_an_interrupted_run_ends_as_one_that_was_not(tiny_bank: Bank, tmp_path: Path, kill_after: int) -> None:
    grids = plan_of(arm("grid", Grid(), GRID), arm("tpe", TPE(samples=4, startup=2), MIXED), replicates=3)
    plan = replace(grids, search_splits=3)
    records = []
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        simulation = Simulation(plan, tiny_bank, tmp_path / name, by_split)
        if name == "killed":
            simulation.run(slots=2, kill_after=kill_after)
            assert set(outcomes_of_plan(tmp_path / name, plan, tiny_bank)) == set(simulation.records)
        assert simulation.run(slots=2).complete
        records.append({trial: one.metrics for trial, one in simulation.records.items()})
    assert records[0] == records[1]


def test_more_splits_go_on_from_fewer_and_fewer_leave_the_others_alone(tiny_bank: Bank, tmp_path: Path) -> None:
    simulation = Simulation(PLAN, tiny_bank, tmp_path, by_split)
    simulation.run()
    first = len(simulation.started)
    simulation.plan = THREE
    simulation.run()
    assert {spec.search_split for spec in simulation.started[first:]} == {1, 2}
    whole, selected = len(simulation.started), SelectionFile.read(tmp_path / "selection.json")
    write_study(tmp_path, PLAN, tiny_bank, [fold_entry(0), fold_entry(1)], execution())
    own = outcomes_of_plan(tmp_path, PLAN, tiny_bank)
    assert {outcome.search_split for outcome in own.values()} == {0}
    assert Dispatcher(PLAN, tiny_bank, tmp_path, own).complete
    assert len(simulation.started) == whole
    assert SelectionFile.read(tmp_path / "selection.json") == selected
    results = read_results(tmp_path)
    assert (len(results.trials), results.other_splits) == (first, ())
    assert {problem.why for problem in results.problems} == {
        "not in the plan: search split 1 of 1 planned",
        "not in the plan: search split 2 of 1 planned",
    }


def test_what_cannot_be_is_refused_before_anything_starts() -> None:
    with pytest.raises(
        ValueError, match=r"--search-splits 4 needs as many fresh seeds, but there are 3.*--replicates 4"
    ):
        replace(PLAN, search_splits=4)
    study = catalogue.find("baselines")
    with pytest.raises(ValueError, match="study 'baselines' has no search: leave it out"):
        Plan(study, study.preset("smoke"), 0, 2, search_splits=2)


def test_a_trial_of_another_split_holds_out_its_fold_and_never_opens_the_test_set(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    plan = replace(mini_plan(epochs=1), search_splits=2)
    spec = plan.search(plan.arms[1], 0, {"epsilon": 0.25}, tiny_bank, search_split=1)[0]
    record = Trial(spec, RunSettings(tmp_path, "cpu")).run()
    held_out = plan.folds(tiny_bank.development(), 1)[0].validation
    assert (record.trial, record.status, record.search_split) == ("triplet_grid.c00.split1.fold0", "completed", 1)
    assert record.metrics.validation["gallery"] == held_out.gallery_mask.sum()
    assert record.test_opened_at is None


def test_what_is_read_of_a_folder_keeps_other_splits_apart(tiny_bank: Bank, tmp_path: Path) -> None:
    write_study(tmp_path, THREE, tiny_bank, [fold_entry(0), fold_entry(1)], execution())
    simulation = Simulation(THREE, tiny_bank, tmp_path, by_split)
    simulation.run(slots=2)
    study, results = StudyFile.read(tmp_path / "study.json"), read_results(tmp_path)
    assert study.search_splits == 3
    assert study.plan == PlannedTrials(
        search_trials=3 * (2 + 4 + 6) * 2, replicate_trials=3 * (3 + 2), reference_trials=1 + 1 + 3
    )
    others = [record for record in simulation.records.values() if record.search_split]
    assert {trial.name for trial in results.other_splits} == {record.trial for record in others}
    assert len(results.every_trial) == len(simulation.records)
    assert results.problems == ()
    assert all(len(results.of(one.name, "replicate")) == 3 for one in results.arms)
    progress = StudyStatus(tmp_path).progress
    assert progress.done == progress.total == len(simulation.records)
