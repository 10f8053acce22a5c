"""A study's metric decides: what is selected, what searches are told and what is shown as best."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from fmim.plan import Plan
from fmim.printing import TextConsole
from fmim.runner.folder.study_file import write_study
from fmim.runner.schedule.progress import StudyProgress
from fmim.runner.search.selection import Outcome, better
from fmim.runner.search.tpe import TPE
from fmim.terminal.status import arms_of
from fmim_core.data.bank.bank import Bank
from fmim_core.metric_names import METRICS, Metric
from fmim_core.records import ProposalsFile, SelectionFile
from fmim_spaces.searchers import Random
from tests.support.documents import execution, fold_entry
from tests.support.simulation import Simulation, arm, hill, plan_of

DISTANCE = Metric("distance", "Distance", higher_is_better=False)


def by_cmc(plan: Plan) -> Plan:
    return replace(plan, study=plan.study.model_copy(update={"metric": "CMC_1"}))


@pytest.mark.parametrize(("metric", "best"), [(METRICS["mAP"], 0.5), (DISTANCE, 0.2)])
def test_the_best_of_a_fold_is_the_lowest_where_lower_is_better(metric: Metric, best: float) -> None:
    so_far = None
    for value in (math.nan, 0.4, None, 0.2, 0.5, math.nan, 0.3):
        so_far = better(so_far, value, metric)
    assert so_far == best


def test_selection_search_and_progress_go_by_the_studys_metric(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = by_cmc(plan_of(arm("random", Random(samples=6)), arm("tpe", TPE(samples=6, startup=2, in_flight=1))))
    simulation = Simulation(plan, tiny_bank, tmp_path)
    simulation.run()
    for name, selection in SelectionFile.read(tmp_path / "selection.json").arms.items():
        means = [simulation.mean(name, number) for number in range(6)]
        assert (selection.metric, selection.score) == ("CMC_1", pytest.approx(max(means)))
        assert selection.number == means.index(max(means))
    last = ProposalsFile.read(tmp_path / "proposals.json").arms["tpe"][-1]
    assert last.values == pytest.approx([simulation.mean("tpe", number) for number in range(5)])
    screen = TextConsole(record=True, width=200, file=(tmp_path / "screen.txt").open("w"), force_terminal=True)
    study = write_study(tmp_path, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution())
    progress = StudyProgress(study, {}, slots=1)
    for record in simulation.records.values():
        progress.count(Outcome.of(record))
    screen.show(arms_of(progress))
    best = max(hill(spec, 9) for spec in simulation.started if (spec.arm, spec.stage) == ("random", "search"))
    shown = screen.export_text()
    assert "best CMC top-1 of a fold" in shown
    assert f"{100 * best:.1f} %" in shown
