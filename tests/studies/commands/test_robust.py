"""A study at several settings: what is refused before anything starts, which settings there are, and a whole run."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from fmim.commands.options import Options
from fmim.commands.robust import at_settings
from fmim.commands.several import Several
from fmim.printing import TextConsole
from fmim_core.records import DONE
from tests.support.mini_study import MINI_STUDY, NO_TRACKER
from tests.support.program import Program

STUDY = MINI_STUDY.model_copy(update={"baseline": "triplet_grid"})


def robust_in(root: Path, **fields: str) -> Several:
    """The small study in `root`, with the values of these fields."""
    each = Options(study=STUDY, preset="mini", backend="inline", gpus_per_trial=0.0, tracking_uri=NO_TRACKER)
    vary = [f"{field}={values}" for field, values in fields.items()]
    return at_settings(root / "runs" / "robust", each, vary, TextConsole(quiet=True))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("lernrate=1,2", "unknown field 'lernrate'; TrainConfig has .* Did you mean 'learning_rate'"),
        ("margins.epsilon=0.1,0.2", "arm 'triplet_grid' of study 'automargin_vs_grid' sets margins.epsilon itself"),
        ("learning_rate=0.001", "write a field and two or more different values"),
        ("learning_rate=0.001,", "write a field and two or more different values"),
        ("learning_rate=0.001,1e-3", "write a field and two or more different values"),
        ("learning_rate=0.001,fast", "learning_rate=fast: .*valid number"),
        ("cohort=1,two", "cohort=two: cohort: .*valid integer"),
        ("data=phantom,nowhere.csv", "data=nowhere.csv: .*nowhere.csv"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(given: str, said: str, fmim_here: Program, tmp_path: Path) -> None:
    done = fmim_here("robust", "automargin_vs_grid", "--preset", "smoke", "--vary", given, cwd=tmp_path)
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []
    assert re.search(said, done.stderr)


def test_a_study_without_comparisons_is_refused(fmim_here: Program, tmp_path: Path) -> None:
    done = fmim_here("robust", "training_dynamics", "--vary", "cohort=0,1", cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "study 'training_dynamics' compares no arms" in done.stderr


def test_a_setting_differs_in_one_field_and_the_study_as_it_is_stands_for_its_own_values(tmp_path: Path) -> None:
    whole = robust_in(
        tmp_path, learning_rate="5e-4,1e-3,0.002", cohort="0,1,2", epochs="2,3", **{"phantom.ageing": "1,9"}
    )
    changed = ["learning_rate=5e-4", "learning_rate=0.002", "cohort=1", "cohort=2", "epochs=3", "phantom.ageing=9"]
    names = ["as_it_is", *changed]
    assert [one.name for one in whole.members] == names
    plans = {one.name: whole.options(one).plan() for one in whole.members}
    assert {name for name, plan in plans.items() if plan.train_configs() != plans["as_it_is"].train_configs()} == {
        "learning_rate=5e-4",
        "learning_rate=0.002",
        "epochs=3",
    }
    assert plans["cohort=2"].preset.phantom.seed == 2
    setup = whole.options(whole.members[1]).setup
    assert (setup.folder, setup.studies) == (whole.out / "learning_rate=5e-4", tmp_path / "runs")


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_study_runs_at_every_setting_and_goes_on_by_the_same_command(tmp_path: Path) -> None:
    assert robust_in(tmp_path, learning_rate="0.001,0.002").run() == DONE
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs" / "robust").glob("*/records/*.json")}
    whole = robust_in(tmp_path, learning_rate="0.001,0.002", cohort="0,1")
    assert whole.run() == DONE
    assert {path: path.stat().st_mtime_ns for path in before} == before
    folders = {one.name for one in whole.members}
    assert {path.parent.name for path in whole.out.glob("*/study.json")} == folders
    with (whole.out / "report" / "tables" / "differences.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    names = ["as_it_is", "learning_rate=0.002", "cohort=1", "mean over all combinations"]
    assert [row["setting"] for row in rows] == names
    page = (whole.out / "report" / "index.html").read_text()
    assert all(f'href="../{folder}/report/index.html"' in page.replace("%3D", "=") for folder in folders)
