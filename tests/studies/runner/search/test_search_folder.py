"""A searched study's folder: what may be resumed, and what the report makes of it.

Searches with real trainings are in `tests/studies/runner/backends/test_on_ray.py`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fmim.plan import Plan
from fmim.runner.folder.outcomes import outcomes_of_plan
from fmim.runner.folder.study_file import write_study
from fmim.runner.search.tpe import TPE
from fmim.terminal.status import StudyStatus
from fmim_core.data.bank.bank import Bank
from fmim_core.records import (
    SCHEMA,
    ProposalsFile,
    read_json,
    record_path,
    write_json,
)
from fmim_reports.build import build_report
from fmim_reports.reading.results import read_results
from fmim_reports.reading.summary import arm_summaries
from fmim_spaces.domain import Choice, Space
from fmim_spaces.searchers import Grid, Random
from fmim_spaces.successive_halving import ASHA
from tests.support.documents import execution, fold_entry
from tests.support.program import Program
from tests.support.reports import table
from tests.support.simulation import MIXED, Simulation, arm, plan_of

FOLDS = [fold_entry(0), fold_entry(1)]


def begun(tmp_path: Path, bank: Bank, plan: Plan, **how: Any) -> Simulation:
    """A study's folder on which a simulation has run."""
    write_study(tmp_path, plan, bank, FOLDS, execution())
    simulation = Simulation(plan, bank, tmp_path)
    simulation.run(**how)
    return simulation


TPE_ARM = arm("tpe", TPE(samples=4, startup=2), MIXED)
LONGER = MIXED.model_copy(
    update={"choices": (Choice(path="margins.epsilon", values=(0.1, 0.5, 0.75)), *MIXED.choices[1:])}
)
GRID = Space(choices=(Choice(path="margins.epsilon", values=(0.1, 0.5)), Choice(path="margins.beta", values=(0.1,))))
LONGER_GRID = Space(choices=(Choice(path="margins.epsilon", values=(0.1, 0.5, 0.75)), *GRID.choices[1:]))

LONGER_SAYS = r"epsilon was \[0.1, 0.5\], is \[0.1, 0.5, 0.75\]"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (TPE_ARM, arm("tpe", TPE(samples=4, startup=2), LONGER), rf"arm 'tpe' .* {LONGER_SAYS}"),
        (TPE_ARM, arm("tpe", TPE(samples=4, startup=2)), "lam was .* is not there"),
        (TPE_ARM, arm("tpe", TPE(samples=4, startup=3), MIXED), "startup was 2, is 3"),
        (TPE_ARM, arm("tpe", Random(samples=4), MIXED), "kind was tpe, is random"),
        (TPE_ARM, arm("tpe", TPE(samples=3, startup=2), MIXED), "4 configurations were proposed, but only 3"),
        (arm("grid", Grid(), GRID), arm("grid", Grid(), LONGER_GRID), rf"arm 'grid' .* {LONGER_SAYS}"),
    ],
)  # fmt: skip
def test_another_space_or_searcher_is_refused_and_the_change_named(
    tiny_bank: Bank, tmp_path: Path, before: Any, after: Any, message: str
) -> None:
    """In Optuna itself a longer list of choices breaks a resumed study with an error about distributions."""
    begun(tmp_path, tiny_bank, plan_of(before))
    files = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    with pytest.raises(ValueError, match=message):
        outcomes_of_plan(tmp_path, plan_of(after), tiny_bank)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == files


def test_another_seed_is_refused_even_before_the_first_record(tiny_bank: Bank, tmp_path: Path) -> None:
    begun(tmp_path, tiny_bank, plan_of(TPE_ARM), kill_after=0)
    with pytest.raises(ValueError, match="seed was 0, is 1"):
        outcomes_of_plan(tmp_path, plan_of(TPE_ARM, seed=1), tiny_bank)


def test_proposals_that_are_gone_are_made_again(tiny_bank: Bank, tmp_path: Path) -> None:
    plan, told = plan_of(TPE_ARM), list[str]()
    assert outcomes_of_plan(tmp_path, plan, tiny_bank, told.append) == {}
    records = begun(tmp_path, tiny_bank, plan).records
    whole = (tmp_path / "proposals.json").read_bytes()
    (tmp_path / "proposals.json").unlink()
    assert outcomes_of_plan(tmp_path, plan, tiny_bank, told.append).keys() == records.keys()
    assert (tmp_path / "proposals.json").read_bytes() == whole
    assert (len(told), "proposals.json is missing" in told[0]) == (2, True)  # and of the simulation's lack of weights


@pytest.mark.parametrize("content", [b"", b"\0\0\0", b"{}", b"null", b"[]", b'{"schema": %d}' % SCHEMA])
def test_damaged_proposals_are_set_aside_and_made_again(tiny_bank: Bank, tmp_path: Path, content: bytes) -> None:
    plan = plan_of(TPE_ARM, arm("random", Random(samples=3)))
    simulation = begun(tmp_path, tiny_bank, plan, slots=3, kill_after=9)  # some configurations are on their way
    path, told = tmp_path / "proposals.json", list[str]()
    whole = ProposalsFile.read(path)
    path.write_bytes(content)
    assert outcomes_of_plan(tmp_path, plan, tiny_bank, told.append).keys() == simulation.records.keys()
    again = ProposalsFile.read(path)
    for name, proposed in again.arms.items():
        assert 0 < len(proposed) <= len(whole.arms[name])
        assert proposed == whole.arms[name][: len(proposed)]
    (aside,) = tmp_path.glob("proposals.json.damaged-*")
    assert aside.read_bytes() == content
    assert told[0].endswith(f"moved to {aside.name}. It is rebuilt from the records")
    simulation.run()
    begun(tmp_path / "b", tiny_bank, plan)
    assert ProposalsFile.read(path) == ProposalsFile.read(tmp_path / "b" / "proposals.json")


def test_proposals_that_the_records_do_not_give_back_stay_as_they_are(tiny_bank: Bank, tmp_path: Path) -> None:
    begun(tmp_path, tiny_bank, plan_of(TPE_ARM))
    path = record_path(tmp_path, "tpe.c02.fold0")
    write_json(path, read_json(path) | {"configuration": {"epsilon": 0.1, "lam": 0.5, "beta": 0.25}})
    (tmp_path / "proposals.json").write_bytes(b"")
    message = (
        r"proposals\.json is not readable JSON .* cannot be rebuilt from the records \(tpe.c02.fold0 has .* proposes"
    )
    with pytest.raises(ValueError, match=message):
        outcomes_of_plan(tmp_path, plan_of(TPE_ARM), tiny_bank)
    assert (tmp_path / "proposals.json").read_bytes() == b""


# What the report makes of it


STUDY = plan_of(
    arm("grid", Grid(), GRID), arm("tpe", TPE(samples=6, startup=2)), arm("asha", ASHA(samples=12)), replicates=2
)


def test_a_report_counts_stopped_trials_as_such_and_averages_none(tiny_bank: Bank, tmp_path: Path) -> None:
    simulation = begun(tmp_path, tiny_bank, STUDY, slots=3)
    searched = [r for r in simulation.records.values() if r.arm == "asha" and r.stage == "search"]
    statuses = Counter(record.status for record in searched)
    assert 0 < statuses["stopped"] < 12
    build_report(tmp_path)
    costs = {row["arm"]: row for row in table(tmp_path, "search_cost")}
    assert [costs[name]["n_s"] for name in ("grid", "tpe", "asha")] == ["2", "6", "12"]
    assert int(costs["asha"]["epochs"]) == sum(len(record.history) for record in searched)
    (row,) = [
        row
        for row in table(tmp_path, "trial_status")
        if (row["arm_label"], row["stage"]) == ("AdaTriplet + asha", "search")
    ]
    counted = {name: int(row[name]) for name in ("stopped", "completed", "failed", "missing", "planned")}
    assert counted == {**statuses, "failed": 0, "missing": 0, "planned": statuses.total()}
    found = [row for row in table(tmp_path, "configurations") if row["arm_label"] == "AdaTriplet + asha"]
    stopped = [row["validation_n"] for row in found if row["selected"].startswith("stopped by its search after epoch")]
    assert stopped == ["0"] * statuses["stopped"]
    assert "another run may stop others" in (tmp_path / "report" / "report.md").read_text()


def test_an_interrupted_search_is_reported_with_what_is_still_to_come(tiny_bank: Bank, tmp_path: Path) -> None:
    simulation = begun(tmp_path, tiny_bank, STUDY, slots=2, kill_after=9)
    build_report(tmp_path)
    results = read_results(tmp_path)
    proposed = len(simulation.configurations("tpe"))
    tpe = next(row for row in table(tmp_path, "trial_status") if row["arm_label"] == "AdaTriplet + tpe")
    assert 0 < proposed < 6
    assert int(tpe["planned"]) == 12
    assert int(tpe["completed"]) + int(tpe["missing"]) == 12
    assert [summary.planned_n_s for summary in arm_summaries(results)] == [2, 6, 12]
    assert "These arms have no selected configuration" in (tmp_path / "report" / "report.md").read_text()
    assert StudyStatus(tmp_path).progress.done == len(simulation.records)


@pytest.mark.slow
def test_plan_prints_the_exact_number_or_the_most(tmp_path: Path, fmim_here: Program) -> None:
    done = fmim_here("plan", "automargin_vs_search", "--preset", "smoke", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "At most 234 trials: 206 search, 12 change a setting of a selected configuration" in said
    assert "at most 460 epochs and 77,440 training images" in said
    assert "epsilon ∈ [0.05, 1]; beta ∈ [0, 1]" in done.stdout
    assert "AdaTriplet + ASHA: trials of fold 0 may stop after 1 of 2 epochs" in done.stdout
