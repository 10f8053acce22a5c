"""Run a study from its declaration to its report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from fmim.commands.options import Options, selection_file
from fmim.data.banks import bank_of
from fmim.data.sources import find_source
from fmim.own.faults import located, place_of
from fmim.plan import Plan
from fmim.plan.subject_check import check_subject_counts
from fmim.plan.trainings_check import check_trainings
from fmim.runner.backends.backend import Backend, open_backend
from fmim.runner.backends.room import Resources
from fmim.runner.cluster.start import RayStart, starting
from fmim.runner.folder.overview import update_overview
from fmim.runner.folder.ownership import locked, move_aside
from fmim.runner.folder.study_file import (
    outcomes_of_plan,
    set_damaged_forecast_aside,
    write_study,
    write_surfaces,
)
from fmim.runner.reuse.earlier import earlier_of
from fmim.runner.study_run import StudyRun, warn
from fmim.runner.tracking.mlflow_runs import Identity
from fmim.runner.tracking.tracker import Tracker
from fmim.terminal.data_warnings import warn_of_data, warn_of_folds
from fmim.terminal.stages import say
from fmim_core.config import Refused
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import development_index
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import Source
from fmim_core.records import Execution, FoldEntry, StudyFile, in_terminal, now, read_records


@dataclass(frozen=True)
class Checked:
    """A plan that can run: its data set, the development images' index, and the sizes of the folds."""

    plan: Plan
    source: Source
    development: ImageSet
    folds: list[FoldEntry]


def plan_of(options: Options) -> Plan:
    """The plan: study and preset, with what the command line changes.

    Raises:
        ValueError: no such study, preset or selection, or a training that cannot be made.
    """
    study, preset = options.declared()
    plan = Plan(study, preset, options.seed, options.replicates, search_splits=options.search_splits)
    try:
        plan.train_configs()
    except Refused as error:
        if preset.changed and _can_be_made(replace(plan, preset=study.preset(preset.name))):
            raise ValueError(f"--set: {error.problem}") from error
        if study.code:
            raise ValueError(f"{place_of(error, study.code)}: {error}") from error
        raise
    return plan


def _can_be_made(plan: Plan) -> bool:
    try:
        plan.train_configs()
    except Refused:
        return False
    return True


@contextmanager
def backend_of(options: Options, plan: Plan, start: RayStart | None) -> Iterator[Backend]:
    """Where the plan's trials run, for a block.

    Raises:
        ValueError: no such resources, no such cluster, or a training cannot be compiled there as it should be.
    """
    with open_backend(start, Resources(options.cpus_per_trial, options.gpus_per_trial), plan.study.code) as backend:
        plan.check_device("cuda" if backend.gpus else "cpu")
        yield backend


def prepare(options: Options) -> Checked:
    """Everything that can be checked without decoding an image: folder, plan, data set, and the folds' sizes.

    Raises:
        ValueError: whatever would stop a trial.
    """
    return check_plan(plan_of(options), options)


def check_plan(plan: Plan, options: Options) -> Checked:
    """As `prepare`, for a plan made by hand."""
    options.check_folder(plan.study.name)
    source = find_source(options.data, options.data_root, plan.preset, options.seed)
    plan = replace(plan, data_settings=tuple(source.description.settings.items()))
    development = development_index(source, plan.preset.image_size)
    check_subject_counts(plan, development)
    with located(options.own_folder):
        return Checked(plan, source, development, check_trainings(plan, development))


def run_study(options: Options, start: RayStart | None, console: Console) -> int:
    """Run, or resume, a study of the catalogue, where `start` has begun to prepare it; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    return run_started(plan_of(options), options, start, console)


def run_plan(plan: Plan, options: Options, console: Console) -> int:
    """Run, or resume, a plan; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    with starting(options.backend, options.address) as start:
        return run_started(plan, options, start, console)


def run_started(plan: Plan, options: Options, start: RayStart | None, console: Console) -> int:
    """As `run_plan`, where `start` has begun to prepare it, or several plans one after the other."""
    begun = time.perf_counter()
    say("checking the plan: one batch of every network and loss", console)
    checked, out = check_plan(plan, options), options.folder
    plan = checked.plan
    warn_of_data(checked.source.description, console)
    with backend_of(options, plan, start) as backend:
        say(f"reading the images of {checked.source.description.name}", console)
        bank = open_bank(checked, options, console)
        backend.check(bank)
        _check_selected_on(bank.fingerprint, options.selected)
        if options.fresh and (aside := move_aside(out)):
            console.print(f"moved {in_terminal(out)} to {in_terminal(aside)}", highlight=False, soft_wrap=True)
        with locked(out) as unlocked:
            tell = partial(warn, console)
            if unlocked:
                tell(unlocked)
            set_damaged_forecast_aside(out, tell)
            outcomes = outcomes_of_plan(out, plan, bank, tell)
            warn_of_folds(checked.folds, bank.interval, console)
            study = write_study(out, plan, bank, checked.folds, _execution(options, backend))
            write_surfaces(out, plan)
            update_overview(out.parent, tell)
            tracker = Tracker(options.tracking, Identity.of(study), partial(read_records, out), tell)
            earlier, command = earlier_of(options, plan, bank, but=out), options.command
            run = StudyRun(plan, bank, out, study, backend, outcomes, earlier, tracker, console, begun, command)
            return run.execute()


def _check_selected_on(data_fingerprint: str, selected: Path | None) -> None:
    """Raise a `ValueError` if the selection was made on another data set, perhaps on these test subjects."""
    if selected is None:
        return
    data = StudyFile.read(selection_file(selected, "study.json")).data
    if data.fingerprint != data_fingerprint:
        raise ValueError(f"--selected {selected} was selected on other data ({data.name}): select on the same first")


def _execution(options: Options, backend: Backend) -> Execution:
    """What study.json says of this execution now; the rest follows when it has ended."""
    return Execution(
        started_at=now(),
        slots=backend.slots,
        backend=options.backend,
        device=backend.device,
        tracking_uri=options.tracking.shown,
    )


def open_bank(checked: Checked, options: Options, console: Console) -> Bank:
    """The data set's images, decoded if this was not done before."""
    return bank_of(checked.source, checked.plan.preset.image_size, options.banks_folder, console)[0]
