"""What a plan says of the power of its comparisons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fmim import catalogue
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim.terminal.plan import ASSUMED_FROM, power_line
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.reading.results import read_results
from fmim_reports.stats import Variances, power_of
from tests.support.factories import make_out
from tests.support.file_contents import edit


def plan(preset: str = "quick", replicates: int = 5) -> Plan:
    study = catalogue.find("automargin_vs_grid")
    return Plan(study, study.preset(preset), 0, replicates)


def test_before_a_run_a_plan_goes_by_the_declared_spread(tmp_path: Path) -> None:
    line = power_line(plan(), tmp_path)
    found = power_of(Variances(0.0153**2, 200 * 0.00143**2, 0.113**2, subjects=200), 5, 0.02, 10)
    assert found is not None
    assert (round(100 * found.smallest_difference, 1), round(100 * found.equivalence)) == (2.9, 44)
    assert line.startswith("5 seeds detect a 2.9-point difference 80 % of the time and ")
    assert f" 44 % of the time ({ASSUMED_FROM})." in line
    assert " 90 % of the time (" in power_line(plan(replicates=10), tmp_path)  # at least 80 % by default


def test_after_a_run_a_plan_goes_by_what_that_measured(tmp_path: Path) -> None:
    out = edit(make_out(tmp_path / "out") / "study.json", preset="quick").parent
    line = power_line(plan(replicates=60), out)
    powers = [power_of(one.variances, 60, 0.02, 5) for one in comparisons(read_results(out)) if one.variances]
    weakest = max(power.smallest_difference for power in powers if power)
    assert line.startswith(f"60 seeds detect a {100 * weakest:.1f}-point difference")
    assert line.endswith("(the weakest of 2 comparisons, Triplet: AutoMargin against grid search; measured in out).")
    assert "measured" not in power_line(plan("full"), out)  # another preset varies otherwise


def test_where_nothing_is_known_a_plan_says_so(tmp_path: Path) -> None:
    assert "is not known for preset full" in power_line(plan("full"), tmp_path)
    longer = replace(plan(), preset=with_changes(plan().preset, [("epochs", 100)]))
    assert "is not known for the changed preset quick" in power_line(longer, tmp_path)
    assert "Fewer than two seeds" in power_line(plan(replicates=1), tmp_path)
    study = catalogue.find("automargin_vs_grid").model_copy(update={"comparisons": (), "claims": ()})
    assert power_line(Plan(study, study.preset("quick"), 0, 5), tmp_path) == ""
