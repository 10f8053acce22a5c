"""A study of two arms that takes seconds, which the tests of the runner run, and an empty database of MLflow."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from fmim.commands.options import Options
from fmim.declare import Arm, Preset, Study
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim.printing import TextConsole
from fmim.runner.backends.ray_cluster import RayCluster
from fmim.runner.folder.study_file import write_study
from fmim.runner.run import run_plan
from fmim.runner.search.selection import given
from fmim.runner.setup import Setup
from fmim.runner.tracking.address import ARTIFACTS
from fmim.runner.tracking.client import prepare
from fmim.terminal.run_display import RunDisplay
from fmim_core.data.bank.bank import Bank
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.records import Execution, FixedSelection, Record, SelectionFile, now
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from fmim_spaces.domain import Choice, Space

NO_TRACKER = "http://127.0.0.1:9"
"""Nobody listens there: the mirror is off at once, as wherever MLflow cannot be reached."""

MINI = Preset(
    name="mini",
    about="seconds, for tests",
    settings=(
        ("model.kind", "small"),
        ("model.embedding_dim", 16),
        ("batches.subjects_per_batch", 4),
        ("augmentation.crop", 24),
        ("learning_rate", 1e-3),
        ("epochs", 2),
    ),
    image_size=28,
    phantom=PhantomConfig(train_subjects=12, test_subjects=6, months=(0, 12, 48)),
    folds=2,
    replicates=2,
)

MINI_STUDY = Study(
    name="automargin_vs_grid",
    title="A small study",
    question="Does it run?",
    presets=(MINI,),
    arms=(
        Arm(
            name="adatriplet_automargin",
            search="AutoMargin",
            settings=(("loss.kind", "adatriplet"), ("margins.kind", "automargin")),
            space=Space(
                choices=(Choice(path="margins.k_delta", values=(2,)), Choice(path="margins.k_an", values=(2,)))
            ),
        ),
        Arm(
            name="triplet_grid",
            search="Grid search",
            settings=(("loss.kind", "triplet"), ("margins.kind", "fixed")),
            space=Space(choices=(Choice(path="margins.epsilon", values=(0.25, 0.5)),)),
        ),
    ),
)


def options_in(root: Path, **changes: Any) -> Setup:
    """Settings of an inline run on the CPU with all it writes below `root`: `study` and banks.

    Nothing is mirrored unless a test says so, since that takes a third of the time (`tracking_uri=tracked_in(root)`);
    and nothing is reused: tests that compare two runs of one plan are to run both.
    """
    given: dict[str, Any] = {
        "study": "automargin_vs_grid",
        "out": root / "study",
        "backend": "inline",
        "gpus_per_trial": 0.0,
        "tracking_uri": NO_TRACKER,
        "banks": root / "banks",
        "reuse": False,
    }
    return Options(**given | changes).setup


def run_here(plan: Plan, setup: Setup, console: TextConsole | None = None, cluster: RayCluster | None = None) -> int:
    """Run a plan; quietly, if no console is given."""
    with RunDisplay(console or TextConsole(quiet=True)) as display:
        return run_plan(plan, setup, display, cluster)


def mini_plan(seed: int = 0, replicates: int = 2, epochs: int | None = None) -> Plan:
    """The plan of the small study: 6 search trials and 4 replicates."""
    return Plan(MINI_STUDY, with_epochs(MINI, epochs), seed, replicates)


def with_epochs(preset: Preset, epochs: int | None) -> Preset:
    """The preset with so many epochs, as with --epochs; its own where none are given."""
    return preset if epochs is None else with_changes(preset, [("epochs", epochs)])


def ensemble_plan(plan: Plan) -> Plan:
    """The same plan with fold models to test."""
    return replace(plan, preset=plan.preset.model_copy(update={"test_protocol": "fold_ensemble"}))


def first_search_trials(plan: Plan, bank: Bank) -> list[TrialSpec]:
    """The search trials of the first arm's first configuration."""
    arm = plan.arms[0]
    return plan.search(arm, 0, next(arm.space.configurations()), bank)


def first_replicates(plan: Plan, bank: Bank) -> list[TrialSpec]:
    """The replicates of the first arm's first configuration."""
    arm = plan.arms[0]
    return plan.replicate(arm, 0, next(arm.space.configurations()), bank)


ARM = "adatriplet_automargin"


def trained(out: Path, plan: Plan, bank: Bank) -> list[Record]:
    """Write study.json, selection.json, and the records, queries and weights of the replicates."""
    execution = Execution(started_at=now(), slots=1, backend="inline", device="cpu", tracking_uri="")
    write_study(out, plan, bank, [], execution)
    selection = given(next(plan.arms[0].space.configurations()), plan.study.metric)
    SelectionFile(arms={ARM: FixedSelection(**dict(selection), selected_at=now())}).write(out / "selection.json")
    return [Trial(spec, RunSettings(out, "cpu")).run() for spec in first_replicates(plan, bank)]


def tracked_in(folder: Path) -> str:
    """The address of mlflow.db in a folder, which is made there unless there is one."""
    path = folder / "mlflow.db"
    if not path.exists():
        path.write_bytes(_empty())
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE experiments SET artifact_location = ?", ((folder / ARTIFACTS).as_uri(),))
    return f"sqlite:///{path}"


@cache
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mlflow.db")
        prepare(path, False, print)
        return path.read_bytes()
