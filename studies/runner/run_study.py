"""Run a study from its declaration to its report."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import development_index
from fmim_core.data.bank.image_set import ImageSet
from fmim_core.data.source import Source
from fmim_core.records import FINAL, Record, now, read_json, record_path
from studies.data.banks import bank_of
from studies.data.sources import find_source
from studies.data.subject_check import check_enough
from studies.exit_codes import DONE, INTERRUPTED, SOME_FAILED
from studies.options import Options, selection_file
from studies.plan import Plan
from studies.runner.backends.backend import Backend, open_backend
from studies.runner.data_warnings import warn_of_data, warn_of_folds
from studies.runner.dispatcher import Dispatcher
from studies.runner.folder import (
    end_execution,
    move_aside,
    records_of_plan,
    sole_user,
    write_sample_images,
    write_study,
    write_surfaces,
)
from studies.runner.progress import Progress
from studies.runner.tracking.mlflow_runs import Identity, check_tracking_uri
from studies.runner.tracking.tracker import Tracker


@dataclass(frozen=True)
class Checked:
    """A plan that can run: its data set, the development images' index, and the sizes of the folds."""

    plan: Plan
    source: Source
    development: ImageSet
    folds: list[dict[str, Any]]


def plan_of(options: Options) -> Plan:
    """The plan: study and preset, with what the command line changes.

    Raises:
        ValueError: no such study, preset or selection, or a training that cannot be made.
    """
    study, preset = options.declared()
    replicates = preset.replicates if options.replicates is None else options.replicates
    plan = Plan(study, preset, options.seed, replicates, options.epochs)
    plan.train_configs()
    return plan


@contextmanager
def backend_of(options: Options, plan: Plan) -> Iterator[Backend]:
    """Where the plan's trials run, for a block.

    Raises:
        ValueError: no such resources, no such cluster, or a training cannot be compiled there as it should be.
    """
    resources = (options.cpus_per_trial, options.gpus_per_trial)
    with open_backend(options.backend, options.address, *resources) as backend:
        plan.check_device("cuda" if backend.gpus else "cpu")
        yield backend


def prepare(options: Options) -> Checked:
    """Everything that can be checked without decoding an image: the plan, the data set, and the folds' sizes.

    Raises:
        ValueError: whatever would stop a trial.
    """
    return check_plan(plan_of(options), options)


def check_plan(plan: Plan, options: Options) -> Checked:
    """As `prepare`, for a plan made by hand."""
    source = find_source(options.data, options.data_root, plan.preset, options.seed)
    plan = replace(plan, data_settings=tuple(source.description.settings.items()))
    development = development_index(source, plan.preset.image_size)
    check_enough(plan, development)
    return Checked(plan, source, development, plan.check(development))


def run_study(options: Options, console: Console) -> int:
    """Run, or go on with, a study of the catalogue; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    return run_plan(plan_of(options), options, console)


def run_plan(plan: Plan, options: Options, console: Console) -> int:
    """Run, or go on with, a plan; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    begun = time.perf_counter()
    uri = check_tracking_uri(options.tracking_uri)
    checked, out = check_plan(plan, options), options.folder
    plan = checked.plan
    warn_of_data(checked.source.description, console)
    with backend_of(options, plan) as backend:
        bank = open_bank(checked, options, console)
        backend.check(bank)
        _check_selected_on(bank, options.selected)
        if options.fresh and (aside := move_aside(out)):
            console.print(f"moved {out} to {aside}", highlight=False, soft_wrap=True)
        with sole_user(out):
            records = records_of_plan(out, plan, bank)
            announce(plan, backend, records, console)
            warn_of_folds(checked.folds, console)
            study_id = write_study(out, plan, bank, checked.folds, _execution(options, backend, uri))
            write_surfaces(out, plan)
            parameters = {"preset": plan.preset.name, "seed": plan.seed, "data": bank.description.name}
            identity = Identity(plan.study.name, study_id, plan.preset.name, parameters)
            tracker = Tracker(uri, identity, (read_json(record_path(out, trial)) for trial in records))
            code = SOME_FAILED
            try:
                code = _run_trials(plan, bank, out, backend, records, tracker, console, begun)
                write_sample_images(out, bank)
                _report(out, console)
            finally:  # whatever becomes of trials and report, no run may stay RUNNING
                _close(tracker, code, out, console)
    return code


def _check_selected_on(bank: Bank, selected: Path | None) -> None:
    """Raise a `ValueError` if the selection was made on another data set, perhaps on these test subjects."""
    if selected is None:
        return
    data = read_json(selection_file(selected, "study.json"))["data"]
    if data["fingerprint"] != bank.fingerprint:
        raise ValueError(f"--selected {selected} was selected on other data ({data['name']}): select on the same first")


def _execution(options: Options, backend: Backend, uri: str) -> dict[str, Any]:
    """What study.json says of this execution now; the rest follows when it has ended."""
    known = {"started_at": now(), "slots": backend.slots, "backend": options.backend, "device": backend.device}
    return known | {"tracking_uri": uri, "ended_at": None, "wall_s": None, "trials": None, "exit_code": None}


def _run_trials(
    plan: Plan,
    bank: Bank,
    out: Path,
    backend: Backend,
    records: dict[str, Record],
    tracker: Tracker,
    console: Console,
    begun: float,
) -> int:
    """All trials; wall_s in study.json counts from the start of the program's work to the end of the last trial."""
    code = DONE
    done = {trial: record for trial, record in records.items() if record["status"] in FINAL}
    with Progress(plan, backend.slots, done, console) as progress:
        dispatcher = Dispatcher(plan, bank, out, done, [progress, tracker])
        try:
            with _terminate_as_interrupt():
                backend.run(dispatcher, out, plan.trials)
        except KeyboardInterrupt:
            code = INTERRUPTED
    if code == DONE and not dispatcher.complete:
        code = SOME_FAILED
    end_execution(out, ended_at=now(), exit_code=code, wall_s=time.perf_counter() - begun, trials=dispatcher.handed_out)
    return code


def _close(tracker: Tracker, code: int, out: Path, console: Console) -> None:
    status = {DONE: "FINISHED", SOME_FAILED: "FAILED", INTERRUPTED: "KILLED"}[code]
    for trouble in tracker.close(status, [out / "report", out / "study.json", out / "selection.json"]):
        console.print(f"[yellow]MLflow:[/] {escape(trouble)} (records are complete; the next start mirrors them)")
    if code == INTERRUPTED:
        console.print("interrupted: the same command goes on from here")


def _report(out: Path, console: Console) -> None:
    from reports.build import build_report

    page = build_report(out)
    console.print(f"report: {page}", highlight=False, soft_wrap=True)


def announce(plan: Plan, backend: Backend, records: dict[str, Record], console: Console) -> None:
    """Say what will happen before it does."""
    for warning in plan.warnings:
        console.print(f"[yellow]{escape(warning)}[/]", highlight=False)
    console.print(
        f"[bold]{plan.study.title}[/] ({plan.preset.name}: {plan.preset.about})\n"
        f"{'' if plan.exact else 'at most '}{plan.search_trials} search trials "
        f"({sum(arm.budget for arm in plan.arms)} configurations × "
        f"{plan.preset.folds} folds) and {plan.replicate_trials} replicates ({len(plan.arms)} arms × "
        f"{plan.replicates} seeds); {backend.slots} at once on {backend.device}",
        highlight=False,
    )
    done = sum(record["status"] in FINAL for record in records.values())
    if records:
        console.print(f"going on: {done} trials are done, {len(records) - done} failed and run again", highlight=False)


def open_bank(checked: Checked, options: Options, console: Console) -> Bank:
    """The data set's images, decoded if this was not done before."""
    return bank_of(checked.source, checked.plan.preset.image_size, options.banks, console)[0]


@contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that the tracker says KILLED and the report is built."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
