"""Run a study from its declaration to its report."""

from __future__ import annotations

import time
from functools import partial

from rich.console import Console

from fmim.data.banks import bank_of
from fmim.plan import Plan
from fmim.printing.console import TextConsole
from fmim.runner.backends.backend import Backend, Resources
from fmim.runner.backends.opening import open_backend
from fmim.runner.backends.ray_cluster import RayCluster, cluster_for
from fmim.runner.checked import CheckedPlan, check_plan
from fmim.runner.folder.overview import update_overview
from fmim.runner.folder.ownership import locked, move_aside
from fmim.runner.folder.study_file import (
    outcomes_of_plan,
    set_damaged_forecast_aside,
    write_study,
    write_surfaces,
)
from fmim.runner.reuse.earlier import earlier_trials
from fmim.runner.setup import Setup
from fmim.runner.study_run import StudyRun, warn
from fmim.runner.tracking.mlflow_runs import Identity
from fmim.runner.tracking.tracker import Tracker
from fmim.terminal.data_warnings import warn_of_data, warn_of_folds
from fmim.terminal.stages import say
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Execution, StudyFile, in_terminal, now, read_records


def backend_of(setup: Setup, plan: Plan, cluster: RayCluster | None) -> Backend:
    """Return where the plan's trials run: on the cluster where there is one.

    Raises:
        ValueError: no such resources, no such cluster, or a training cannot be compiled there as it should be.
    """
    backend = open_backend(cluster, Resources(setup.cpus_per_trial, setup.gpus_per_trial), plan.study.code)
    plan.check_device("cuda" if backend.gpus else "cpu")
    return backend


def run_plan(plan: Plan, setup: Setup, console: Console) -> int:
    """Run, or resume, a plan; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    with cluster_for(setup.backend, setup.address) as cluster:
        return run_started(plan, setup, cluster, console)


def run_started(plan: Plan, setup: Setup, cluster: RayCluster | None, console: Console) -> int:
    """As `run_plan`, on a cluster that has begun to start, as of several plans one after the other."""
    begun = time.perf_counter()
    say("checking the plan: one batch of every network and loss", console)
    setup.check_folders(plan.study.name)
    checked, out = check_plan(plan, setup), setup.folder
    plan = checked.plan
    warn_of_data(checked.source.description, console)
    backend = backend_of(setup, plan, cluster)
    say(f"reading the images of {checked.source.description.name}", console)
    bank = open_bank(checked, setup, console)
    backend.check(bank)
    _check_selected_on(bank.fingerprint, setup)
    if setup.fresh and (aside := move_aside(out)):
        console.print(f"moved {in_terminal(out)} to {in_terminal(aside)}", highlight=False, soft_wrap=True)
    with locked(out) as unlocked:
        tell = partial(warn, console)
        if unlocked:
            tell(unlocked)
        set_damaged_forecast_aside(out, tell)
        outcomes = outcomes_of_plan(out, plan, bank, tell)
        warn_of_folds(checked.folds, bank.interval, console)
        study = write_study(out, plan, bank, checked.folds, _execution(setup, backend))
        write_surfaces(out, plan)
        update_overview(out.parent, tell)
        tracker = Tracker(setup.tracking, Identity.of(study), partial(read_records, out), tell)
        earlier = earlier_trials(setup.studies, bank.fingerprint, plan.seed, but=out, reuse=setup.reuse)
        run = StudyRun(plan, bank, out, study, backend, outcomes, earlier, tracker, console, begun, setup.command)
        return run.execute()


def _check_selected_on(data_fingerprint: str, setup: Setup) -> None:
    """Raise a `ValueError` if the selection was made on another data set, perhaps on these test subjects."""
    path = setup.selection_file("study.json")
    if path is None:
        return
    data = StudyFile.read(path).data
    if data.fingerprint != data_fingerprint:
        raise ValueError(
            f"--selected {setup.selected} was selected on other data ({data.name}): select on the same first"
        )


def _execution(setup: Setup, backend: Backend) -> Execution:
    """What study.json says of this execution now; the rest follows when it has ended."""
    return Execution(
        started_at=now(),
        slots=backend.slots,
        backend=setup.backend,
        device=backend.device,
        tracking_uri=setup.tracking.shown,
    )


def open_bank(checked: CheckedPlan, setup: Setup, console: Console) -> Bank:
    """The data set's images, decoded if this was not done before."""
    return bank_of(
        checked.source, checked.plan.preset.image_size, setup.banks, TextConsole(quiet=console.quiet, file=console.file)
    )[0]
