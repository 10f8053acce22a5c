"""What a plan says of the power of its comparisons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fmim import catalogue
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim.terminal.plan import MEASURED_ON, power_lines
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.words import power_sentence
from fmim_reports.reading.results import read_results
from fmim_reports.stats import Variances, power_of
from tests.support.factories import make_out
from tests.support.file_contents import edit


def plan(preset: str = "quick", replicates: int = 5) -> Plan:
    study = catalogue.find("automargin_vs_grid")
    return Plan(study, study.preset(preset), 0, replicates)


def test_before_a_run_a_plan_goes_by_the_declared_spread(tmp_path: Path) -> None:
    (line,) = power_lines(plan(), tmp_path)
    found = power_of(Variances(0.0153**2, 200 * 0.00143**2, 0.113**2, subjects=200), 5, 0.02, 10)
    assert line == f"power, assumed from {MEASURED_ON}: {power_sentence(found, 'seeds and subjects')}"
    assert "two equal arms are found equivalent with a probability of 43.6 %" in line
    (of_quick,) = power_lines(plan(replicates=10), tmp_path)
    assert "two equal arms are found equivalent with a probability of 90.1 %" in of_quick  # at least 80 % by default


def test_after_a_run_a_plan_goes_by_what_that_measured(tmp_path: Path) -> None:
    out = edit(make_out(tmp_path / "out") / "study.json", preset="quick").parent
    first, second = power_lines(plan(replicates=60), out)
    (one, _) = comparisons(read_results(out))
    assert one.variances is not None
    expected = power_sentence(power_of(one.variances, 60, 0.02, 5), "seeds")
    assert first == f"power, measured in out, Triplet: AutoMargin against grid search: {expected}"
    assert "With 60 seeds and this variation over seeds, two equal arms are found" in second
    assert "measured" not in power_lines(plan("full"), out)[0]  # another preset varies otherwise


def test_where_nothing_is_known_a_plan_says_so(tmp_path: Path) -> None:
    assert "nothing is assumed of how differences vary with preset full" in power_lines(plan("full"), tmp_path)[0]
    longer = replace(plan(), preset=with_changes(plan().preset, [("epochs", 100)]))
    assert "nothing is assumed of how differences vary with a changed preset quick" in power_lines(longer, tmp_path)[0]
    assert "fewer than two seeds" in power_lines(plan(replicates=1), tmp_path)[0]
    study = catalogue.find("automargin_vs_grid").model_copy(update={"comparisons": (), "claims": ()})
    assert power_lines(Plan(study, study.preset("quick"), 0, 5), tmp_path) == []
