"""Run a study from its declaration to its report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from fmim.data.banks import bank_of
from fmim.data.sources import find_source
from fmim.data.subject_check import check_subject_counts
from fmim.exit_codes import DONE, INTERRUPTED, SOME_FAILED
from fmim.options import Options, selection_file
from fmim.own.faults import located, place_of
from fmim.plan import Plan
from fmim.runner.backends.backend import Backend, open_backend
from fmim.runner.backends.room import Resources
from fmim.runner.cluster.start import RayStart, starting
from fmim.runner.data_warnings import warn_of_data, warn_of_folds
from fmim.runner.dispatcher import Dispatcher
from fmim.runner.ending.signals import announced
from fmim.runner.folder import (
    end_execution,
    outcomes_of_plan,
    set_damaged_forecast_aside,
    write_shown_images,
    write_study,
    write_surfaces,
)
from fmim.runner.ownership import locked, move_aside
from fmim.runner.selection import Outcome
from fmim.runner.tracking.mlflow_runs import STATUS_OF_STUDY, Identity, artifacts_of
from fmim.runner.tracking.tracker import Tracker
from fmim.runner.workload import Workload
from fmim.terminal.next_steps import show_next
from fmim.terminal.progress import Progress
from fmim.terminal.stages import say
from fmim.terminal.study_progress import StudyProgress
from fmim_core.config import Refused
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import development_index
from fmim_core.data.bank.image_set import ImageSet
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
        return Checked(plan, source, development, plan.check(development))


def run_study(options: Options, start: RayStart | None, console: Console) -> int:
    """Run, or resume, a study of the catalogue, where `start` has begun to prepare it; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    return _run(plan_of(options), options, start, console)


def run_plan(plan: Plan, options: Options, console: Console) -> int:
    """Run, or resume, a plan; returns the exit code.

    Raises:
        ValueError: bad input; nothing has started.
    """
    with starting(options.backend, options.address) as start:
        return _run(plan, options, start, console)


def _run(plan: Plan, options: Options, start: RayStart | None, console: Console) -> int:
    begun = time.perf_counter()
    say("checking the plan: one batch of every network and loss", console)
    checked, out = check_plan(plan, options), options.folder
    plan = checked.plan
    warn_of_data(checked.source.description, console)
    with backend_of(options, plan, start) as backend:
        say(f"reading the images of {checked.source.description.name}", console)
        bank = open_bank(checked, options, console)
        backend.check(bank)
        _check_selected_on(bank, options.selected)
        if options.fresh and (aside := move_aside(out)):
            console.print(f"moved {in_terminal(out)} to {in_terminal(aside)}", highlight=False, soft_wrap=True)
        with locked(out) as unlocked:

            def warn(text: str) -> None:
                console.print(f"[yellow]{in_terminal(text)}[/]", highlight=False, soft_wrap=True)

            if unlocked:
                warn(unlocked)
            set_damaged_forecast_aside(out, warn)
            outcomes = outcomes_of_plan(out, plan, bank, warn)
            warn_of_folds(checked.folds, bank.interval, console)
            study = write_study(out, plan, bank, checked.folds, _execution(options, backend))
            write_surfaces(out, plan)
            tracker = Tracker(options.tracking, Identity.of(study), partial(read_records, out), warn)
            command = options.command
            return StudyRun(plan, bank, out, study, backend, outcomes, tracker, console, begun, command).execute()


@dataclass(frozen=True)
class StudyRun:
    """One execution of a plan in its study's folder.

    outcomes: of the plan's trials that have a record, by trial.
    begun: `time.perf_counter` when the program's work began. command: goes on with the study, where there is one.
    """

    plan: Plan
    bank: Bank
    out: Path
    study: StudyFile
    backend: Backend
    outcomes: Mapping[str, Outcome]
    tracker: Tracker
    console: Console
    begun: float
    command: str | None = None

    def execute(self) -> int:
        """All trials that are missing, and the report; returns the exit code."""
        code = SOME_FAILED
        try:
            self._say_what_will_happen()
            code = self._train()
            self._report(code)
        except KeyboardInterrupt:
            code = INTERRUPTED
            raise
        except OSError as error:  # a full disk
            code = SOME_FAILED
            said = f"{error}. Records so far are safe: the same command resumes from them"
            self.console.print(f"[red]error:[/] {in_terminal(said)}", highlight=False, soft_wrap=True)
        finally:  # whatever becomes of trials and report, no run may stay RUNNING
            self._close(code)
        return code

    def _say_what_will_happen(self) -> None:
        plan, backend, splits, winners = self.plan, self.backend, "", ""
        if plan.search_splits > 1:
            splits, winners = f" × {plan.search_splits} splits", " and other splits' winners"
        for warning in plan.warnings:
            self.console.print(f"[yellow]{in_terminal(warning)}[/]", highlight=False)
        self.console.print(
            f"[bold]{in_terminal(plan.study.title)}[/] ({plan.preset.name}: {in_terminal(plan.preset.about)})\n"
            f"{'' if plan.exact else 'at most '}{plan.search_trials} search trials "
            f"({sum(arm.budget for arm in plan.arms)} configurations × "
            f"{plan.preset.folds} folds{splits}), {plan.replicate_trials} replicates of {len(plan.arms)} "
            f"arms{winners} and {plan.reference_trials} trials of {len(plan.references)} references; "
            f"{backend.slots} at once on {backend.device}",
            highlight=False,
        )
        if self.outcomes:
            done, failed = len(self._done), len(self.outcomes) - len(self._done)
            self.console.print(f"resuming: {done} trials are done, {failed} failed and run again", highlight=False)

    @property
    def _done(self) -> dict[str, Outcome]:
        return {trial: outcome for trial, outcome in self.outcomes.items() if outcome.final}

    def _train(self) -> int:
        """All trials; wall_s in study.json counts from the start of the program's work to the end of the last trial."""
        code = DONE
        with Progress(self._study_progress(), self._done.values(), self.out, self.console, self.command) as progress:
            dispatcher = Dispatcher(self.plan, self.bank, self.out, self._done, [progress, self.tracker])
            try:
                with announced(self._say_stopping):
                    self.backend.run(dispatcher, self.out, self.plan.trials)
            except KeyboardInterrupt:
                code = INTERRUPTED
        if code == DONE and not dispatcher.complete:
            code = SOME_FAILED
        wall_s = time.perf_counter() - self.begun
        end_execution(self.out, wall_s, dispatcher.handed_out, exit_code=code)
        return code

    def _say_stopping(self) -> None:
        self.console.print("stopping … (running trials keep their last checkpoint)", highlight=False, soft_wrap=True)

    def _study_progress(self) -> StudyProgress:
        workload, test_images = Workload(self.plan, self.bank.development()), int(self.bank.summary["test"]["images"])
        lengths = {arm.name: workload.lengths(arm, test_images) for arm in self.plan.arms}
        return StudyProgress(self.study, lengths, self.backend.slots)

    def _report(self, code: int) -> None:
        from fmim.terminal.ending import show_results
        from fmim_reports.build import build_report
        from fmim_reports.parts.queries.shown import shown_rows
        from fmim_reports.reading.results import read_results

        say("building the report", self.console)
        results = read_results(self.out)
        write_shown_images(self.out, self.bank, shown_rows(results))
        page = build_report(self.out)
        if code != INTERRUPTED:
            show_results(results, self.console)
        self.console.print(f"report: {in_terminal(page)}", highlight=False, soft_wrap=True)
        if code != INTERRUPTED:
            show_next(self.out, self.console)

    def _close(self, code: int) -> None:
        say("bringing MLflow up to date", self.console)
        self.tracker.close(STATUS_OF_STUDY[code], artifacts_of(self.out))
        if code == INTERRUPTED:
            again = self.command or "the same call"
            self.console.print(f"interrupted; to go on: {in_terminal(again)}", highlight=False, soft_wrap=True)


def _check_selected_on(bank: Bank, selected: Path | None) -> None:
    """Raise a `ValueError` if the selection was made on another data set, perhaps on these test subjects."""
    if selected is None:
        return
    data = StudyFile.read(selection_file(selected, "study.json")).data
    if data.fingerprint != bank.fingerprint:
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
