"""Run a plan, or go on with it: everything that is checked, the trials that are missing, and the report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from fmim.data.sources import find_data_set
from fmim.own.study_file import located
from fmim.plan import Plan
from fmim.plan.checks import check_trainings, data_warnings, fold_warnings
from fmim.plan.workload import Workload
from fmim.runner.backends.backend import Backend, Inline
from fmim.runner.backends.ray_cluster import RayCluster, cluster_for
from fmim.runner.folder.locks import locked, move_aside
from fmim.runner.folder.outcomes import outcomes_of_plan
from fmim.runner.folder.overview import update_overview
from fmim.runner.folder.study_file import end_execution, write_shown_images, write_study, write_surfaces
from fmim.runner.looks import plan_after_look, resumed_plan
from fmim.runner.observer import RunObserver
from fmim.runner.reuse.equal_trials import EqualTrials, earlier_trials
from fmim.runner.reuse.shared_records import SharedRecords
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.schedule.progress import StudyProgress
from fmim.runner.search.selection import Outcome
from fmim.runner.setup import Setup
from fmim.runner.tracking.runs import STATUS_OF_STUDY, Identity
from fmim.runner.tracking.tracker import Tracker
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank, development_index
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import Source
from fmim_core.records import (
    DONE,
    INTERRUPTED,
    SOME_FAILED,
    Execution,
    FoldEntry,
    Place,
    StudyFile,
    now,
    progress_path,
    read_records,
    remove_parts,
    words_of,
)
from fmim_reports.reading.results import Results

UPDATED_EVERY_S = 2.0
AFTERWARDS_S, AFTERWARDS_PER_TRIAL_S = 6.0, 0.05
"""What the report and MLflow take after the last trial: 12 s with 110 trials, 19 s with 226, on 2 cores."""


@dataclass(frozen=True)
class CheckedPlan:
    """A plan that can run: its data set, the development images' index, and the sizes of the folds."""

    plan: Plan
    source: Source
    development: ImageSet
    folds: list[FoldEntry]

    @property
    def warnings(self) -> list[str]:
        """Oddities of the data that one should know of."""
        return data_warnings(self.source.description) + fold_warnings(self.folds, self.development.interval)


def check_plan(plan: Plan, setup: Setup) -> CheckedPlan:
    """Check the data set, its subjects, and one batch of every training.

    Raises:
        ValueError: whatever would stop a trial.
    """
    source = find_data_set(setup.data, setup.data_root, plan.preset, plan.seed).source()
    plan = replace(plan, data_settings=tuple(source.description.training.items()))
    development = development_index(source, plan.preset.image_size)
    with located(setup.code):
        return CheckedPlan(plan, source, development, check_trainings(plan, development))


def open_backend(cluster: RayCluster | None, plan: Plan, setup: Setup) -> Backend:
    """Return where the plan's trials run, as soon as the cluster is there: on it, or in this process.

    Raises:
        ValueError: no such resources or device, no cluster, or its workers cannot run this program.
    """
    asked = setup.cpus_per_trial, setup.gpus_per_trial
    if cluster is None:
        backend: Backend = Inline.of(*asked)
    else:
        from fmim.runner.backends.ray_backend import RayBackend  # it takes a second, while the cluster starts

        backend = RayBackend.of(cluster, *asked, plan.study.code)
    plan.check_device("cuda" if backend.gpus else "cpu")
    return backend


def run_plan(plan: Plan, setup: Setup, observer: RunObserver, cluster: RayCluster | None = None) -> int:
    """Run, or resume, a plan; return the exit code.

    Args:
        cluster: one that has begun to start; if none has, and the setup asks for one, it begins now.

    Raises:
        ValueError: bad input; nothing has started.
    """
    begun = time.perf_counter()
    with nullcontext(cluster) if cluster else cluster_for(setup.backend, setup.address) as there:
        observer.stage("checking the plan: one batch of every network and loss")
        setup.check_folders(plan.study.name)
        checked = check_plan(plan, setup)
        for warning in checked.warnings:
            observer.warn(warning)
        backend = open_backend(there, checked.plan, setup)
        observer.stage(f"reading the images of {checked.source.description.name}")
        bank = build_bank(checked.source, plan.preset.image_size, setup.banks, observer.decoded, observer.warn)
        backend.check(bank)
        setup.check_selected_on(bank.fingerprint)
        if setup.fresh and (aside := move_aside(setup.folder)):
            observer.note(f"moved {setup.folder} to {aside}")
        with locked(setup.folder) as unlocked:
            if unlocked:
                observer.warn(unlocked)
            remove_parts(setup.folder)
            following: Plan | None = resumed_plan(checked.plan, setup.folder)
            while following is not None:
                execution = _Execution(replace(checked, plan=following), setup, observer, backend, bank, begun)
                (code, results), begun = execution.execute(), time.perf_counter()
                whole = results if code == DONE else None
                following = plan_after_look(following, whole, observer.note) if whole else None
            return code


@dataclass(frozen=True)
class _Execution:
    """One execution of a plan in its study's folder. begun: `time.perf_counter` when the program's work began."""

    checked: CheckedPlan
    setup: Setup
    observer: RunObserver
    backend: Backend
    bank: Bank
    begun: float

    def execute(self) -> tuple[int, Results | None]:
        """Run all trials that are missing, and write the report; return the exit code and what was found."""
        plan, out, warn, code = self.checked.plan, self.setup.folder, self.observer.warn, SOME_FAILED
        results: Results | None = None
        outcomes = outcomes_of_plan(out, plan, self.bank, warn, self.setup.remake_weights)
        execution = Execution(
            started_at=now(),
            slots=self.backend.slots,
            backend=self.setup.backend,
            device=self.backend.device,
            tracking_uri=self.setup.tracking.shown,
        )
        study = write_study(out, plan, self.bank, self.checked.folds, execution)
        write_surfaces(out, plan)
        update_overview(out.parent, warn)
        tracker = Tracker(self.setup.tracking, Identity.of(study), partial(read_records, out), warn)
        try:
            code = self._train(study, outcomes, tracker)
            results = self._report(code)
        except KeyboardInterrupt:
            code = INTERRUPTED
            raise
        except OSError as error:  # a full disk, Ray or the folder gone
            code = SOME_FAILED
            self.observer.error(f"{words_of(error)}. The same command resumes from the records that are there")
        finally:  # whatever becomes of trials and report, no run may stay RUNNING
            self.observer.stage("bringing MLflow up to date: the answer, the report, and the selected models")
            tracker.close(STATUS_OF_STUDY[code], out)
            if code == INTERRUPTED:
                self.observer.note(f"interrupted; to resume: {self.setup.command or 'the same call'}")
        return code, results

    def _train(self, study: StudyFile, outcomes: Mapping[str, Outcome], tracker: Tracker) -> int:
        """Run the trials; wall_s in study.json counts from the start of the program's work to the last one's end."""
        plan, out, observer, backend = self.checked.plan, self.setup.folder, self.observer, self.backend
        done = {trial: outcome for trial, outcome in outcomes.items() if outcome.final}
        earlier = earlier_trials(self.setup.studies, self.bank.fingerprint, plan.seed, out, self.setup.reuse)
        equal = EqualTrials(plan, self.bank, earlier)
        observer.planned(plan, backend.slots, backend.device)
        if outcomes:
            failed = len(outcomes) - len(done)
            observer.note(f"resuming: {len(done)} trials done" + f"; {failed} failed and will run again" * bool(failed))
        for sentence in equal.reused(done).sentences:
            observer.note(sentence)
        workload, test_images = Workload(plan, self.bank.development()), int(self.bank.summary["test"]["images"])
        lengths = {arm.name: workload.lengths(arm, test_images) for arm in plan.arms}
        progress = StudyProgress(study, lengths, backend.slots, equal.by_arm({}), observer.warn)
        for outcome in done.values():
            progress.count(outcome)
        code, winners = DONE, dict[str, int]()
        shared = SharedRecords(out, earlier, bool(backend.gpus), observer.warn, done)

        def selected(arm: str, number: int) -> None:
            winners[arm] = number
            progress.reused = equal.by_arm(winners)

        trials = Dispatcher(plan, self.bank, out, done, [progress, tracker], selected, shared)
        try:
            with kept_current(progress, out, self.setup.command, observer.progress):
                backend.run(trials, out, plan.trials)
        except KeyboardInterrupt:
            code = INTERRUPTED
            observer.note("stopping … (running trials keep their last checkpoint)")
        finally:
            observer.trials_over()
        if code == DONE and not trials.complete:
            code = SOME_FAILED
        end_execution(out, time.perf_counter() - self.begun, trials.handed_out, exit_code=code)
        if shared.reused:
            folders = ", ".join(f"{folder} ({number})" for folder, number in sorted(shared.reused.items()))
            trained = f"{trials.handed_out} trained in this run"
            observer.note(f"{shared.reused.total()} trials reuse a result of {folders}; {trained}")
        return code

    def _report(self, code: int) -> Results:
        self.observer.stage("writing the report: reading the records")
        from fmim_reports.build import build_report
        from fmim_reports.parts.queries.shown import shown_rows
        from fmim_reports.reading.results import read_results

        out, observer = self.setup.folder, self.observer
        results = read_results(out)
        write_shown_images(out, self.bank, shown_rows(results))
        page = build_report(out, observer.stage)
        if code == INTERRUPTED:
            observer.note(f"report: {page}")
        else:
            observer.results(results, page)
        update_overview(out.parent, observer.warn)
        return results


@contextmanager
def kept_current(
    study: StudyProgress, out: Path, command: str | None, show: Callable[[StudyProgress, float | None], None]
) -> Iterator[None]:
    """Write progress.json and show how far a study is, every few seconds of the block, long epochs included.

    Args:
        command: goes on with the study, where there is one.
        show: takes how far it is, and the seconds that are left, with those of the report and MLflow.
    """
    over, place = threading.Event(), Place.of(out)

    def write() -> None:
        with suppress(OSError):  # no folder any more, or a full disk: this is no result, and the next record says so
            place.check()
            study.document(command).write(progress_path(out))

    def keep() -> None:
        while True:
            left = study.seconds_left(datetime.now(UTC))
            show(study, None if left is None else left + AFTERWARDS_S + AFTERWARDS_PER_TRIAL_S * study.total)
            write()
            if over.wait(UPDATED_EVERY_S):
                return

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        study.running.clear()
        write()
    place.check()
