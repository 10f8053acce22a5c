"""Lists, plans and dry runs, the names that a shell completes, and that the console script is the same program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fmim import catalogue
from fmim.commands.options import Options
from fmim_core.data.sets.base import DATA_SETS
from tests.support.program import Program


@pytest.mark.slow
def test_plan_and_dry_run_print_the_trials_and_start_nothing(tmp_path: Path, fmim_here: Program) -> None:
    dry = fmim_here("automargin_vs_grid", "--dry-run", "--replicates", 4, cwd=tmp_path)
    plan = fmim_here("plan", "automargin_vs_grid", "--replicates", 4, cwd=tmp_path)
    assert (dry.returncode, plan.returncode) == (0, 0)
    assert dry.stdout == plan.stdout
    trials, reused, *_ = dry.stdout.splitlines()[1:]
    assert re.findall(r"\d+", trials) == ["170", "72", "48", "44", "6"]
    assert re.findall(r"\d+", reused) == ["28", "170", "142"]
    assert list(tmp_path.iterdir()) == []


def test_lists_and_plans_are_json_alone_and_the_console_script_is_the_same_program(
    tmp_path: Path, fmim_here: Program
) -> None:
    script = Path(sys.executable).with_name("fmim")
    done = subprocess.run([script, "list", "--json"], cwd=tmp_path, capture_output=True, text=True, check=True)
    by_name = {one["study"]: one for one in json.loads(done.stdout)}
    assert list(by_name) == [one["name"] for one in by_name.values()] == catalogue.names()
    assert [line.split()[0] for line in fmim_here("list", cwd=tmp_path).stdout.splitlines()[2:]] == catalogue.names()
    study = by_name["automargin_vs_grid"]
    assert (study["metric"], study["presets"]) == ("mAP", ["smoke", "quick", "full", "paper"])
    assert ["adatriplet_automargin", "adatriplet_grid"] in study["comparisons"]
    assert {"adatriplet_automargin", "adatriplet_grid"} <= set(study["arms"])
    done = fmim_here("plan", "lambda_sweep", "--preset", "smoke", "--epochs", "3", "--json", cwd=tmp_path)
    plan = json.loads(done.stdout)
    assert (plan["study"], plan["preset"], plan["changed"]) == ("lambda_sweep", "smoke", {"epochs": 3})
    trained = plan["search_trials"] + plan["variation_trials"] + plan["replicate_trials"]
    assert plan["trials"] == trained + plan["reference_trials"]
    assert plan["search_trials"] == sum(arm["n_s"] for arm in plan["arms"]) * len(plan["folds"])
    assert plan["epochs"] == 3 * trained
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["plan", "run", "robust", "paper", "data"])
def test_help_fits_80_columns_and_cuts_no_example(command: str, tmp_path: Path, fmim_here: Program) -> None:
    lines = fmim_here(command, "--help", cwd=tmp_path).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "…" in line or "..." in line.replace("[ARGS]...", "")]


def test_a_cohort_is_another_draw_of_the_presets_phantoms() -> None:
    first, other = (Options(study="automargin_vs_grid", cohort=cohort).declared()[1].phantom for cohort in (None, 3))
    assert other == first.model_copy(update={"seed": 3})
    assert first.seed == 0


def test_the_command_that_goes_on_holds_what_was_given_but_no_address_that_may_hold_a_password() -> None:
    given = Options(
        study="lambda_sweep",
        data_root=Path("my images"),
        changes=["epochs=3"],
        gpus_per_trial=0.5,
        reuse=False,
        until_decided=True,
        fresh=True,
        tracking_uri="https://me:secret@host",
    )
    same = "--set epochs=3 --data-root 'my images' --gpus-per-trial 0.5 --no-reuse --until-decided --tracking-uri URI"
    assert given.setup.command == f"fmim run lambda_sweep {same}"
    assert "secret" not in repr(given) + repr(given.setup)
    assert given.but(study="baselines").setup.command == f"fmim run baselines {same}"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("fmim st", {"status"}),
        ("fmim run automargin_vs", {"automargin_vs_grid", "automargin_vs_search"}),
        ("fmim plan x --preset q", {"quick"}),
        ("fmim run x --data ", {"phantom", *DATA_SETS.kinds()}),
        ("fmim data check ph", {"phantom"}),
        ("fmim run my_st", set()),  # the shell completes files where there is no name
    ],
)
def test_names_are_completed(
    typed: str, expected: set[str], fmim_here: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_FMIM_COMPLETE": "complete_bash", "COMP_WORDS": typed}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    assert set(fmim_here(cwd=tmp_path).stdout.split()) == expected
