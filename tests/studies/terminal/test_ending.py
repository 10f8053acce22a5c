"""What a run ends with, on values that are known by formula; and what lists and plans say to programs."""

from __future__ import annotations

import io
import json
from pathlib import Path

from fmim.printing import TextConsole
from fmim.terminal.run_display import show_next, show_results
from fmim_core.records import record_path
from fmim_reports.reading.results import read_results
from tests.support.factories import make_out
from tests.support.program import Program

ARMS = ("triplet_grid", "triplet_automargin")


def test_a_run_ends_with_its_arms_the_answers_and_what_follows(tmp_path: Path) -> None:
    """Validation is the level 78 and 78.5 %, test 5 points below it ± 0.71; one replicate of AutoMargin is missing."""
    out = make_out(tmp_path / "my study", arms=ARMS)
    record_path(out, "triplet_automargin.c00.seed2").unlink()
    text = io.StringIO()
    console = TextConsole(width=100, force_terminal=True, color_system=None, file=text)
    show_results(read_results(out), console)
    show_next(out, console)
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert lines[0] == "arm selected validation test N_s"
    assert "Triplet + grid search ε = 0.5 78.00 73.00 ± 0.71 4" in lines
    assert "Triplet + AutoMargin K_Δ = 2 78.50 73.75 ± 0.85 (4 of 5 seeds) 2" in lines
    said = " ".join(lines)
    assert "Triplet: AutoMargin scored 0.5 percentage points higher than grid search in mAP (95 % CI" in said
    assert "for 1/2 of the search cost" in said
    assert any(line.startswith("how far each arm is: fmim status '") and line.endswith("my study'") for line in lines)


def test_lists_and_plans_are_json_alone(fmim_here: Program, tmp_path: Path) -> None:
    done = fmim_here("list", "--json", cwd=tmp_path)
    by_name = {one["study"]: one for one in json.loads(done.stdout)}
    study = by_name["automargin_vs_grid"]
    assert (study["metric"], study["presets"]) == ("mAP", ["smoke", "quick", "full", "paper"])
    assert ["adatriplet_automargin", "adatriplet_grid"] in study["comparisons"]
    assert {"adatriplet_automargin", "adatriplet_grid"} <= set(study["arms"])
    done = fmim_here("plan", "lambda_sweep", "--preset", "smoke", "--epochs", "3", "--json", cwd=tmp_path)
    plan = json.loads(done.stdout)
    assert (plan["study"], plan["preset"], plan["changed"]) == ("lambda_sweep", "smoke", {"epochs": 3})
    assert plan["trials"] == plan["search_trials"] + plan["replicate_trials"] + plan["reference_trials"]
    assert plan["search_trials"] == sum(arm["n_s"] for arm in plan["arms"]) * len(plan["folds"])
    assert plan["epochs"] == 3 * (plan["search_trials"] + plan["replicate_trials"])
    assert list(tmp_path.iterdir()) == []
