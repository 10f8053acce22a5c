"""One execution of a plan in its study's folder: trials, report, and what is said of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from fmim.plan import Plan
from fmim.plan.workload import Workload
from fmim.runner.backends.backend import Backend
from fmim.runner.ending.exit_codes import DONE, INTERRUPTED, SOME_FAILED
from fmim.runner.ending.signals import announced
from fmim.runner.folder.overview import update_overview
from fmim.runner.folder.study_file import (
    end_execution,
    write_shown_images,
)
from fmim.runner.reuse.earlier import EarlierTrials
from fmim.runner.reuse.known import EqualTrials
from fmim.runner.reuse.on_disk import RecordsOnDisk
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.schedule.reusing import Reusing
from fmim.runner.schedule.study_progress import StudyProgress
from fmim.runner.search.selection import Outcome
from fmim.runner.tracking.mlflow_runs import STATUS_OF_STUDY
from fmim.runner.tracking.tracker import Tracker
from fmim.terminal.next_steps import show_next
from fmim.terminal.progress import Progress
from fmim.terminal.stages import say
from fmim_core.data.bank.bank import Bank
from fmim_core.records import StudyFile, TrialCounts, in_terminal


@dataclass(frozen=True)
class StudyRun:
    """One execution of a plan in its study's folder.

    outcomes: of the plan's trials that have a record, by trial.
    earlier: what other studies have results of.
    begun: `time.perf_counter` when the program's work began. command: goes on with the study, where there is one.
    """

    plan: Plan
    bank: Bank
    out: Path
    study: StudyFile
    backend: Backend
    outcomes: Mapping[str, Outcome]
    earlier: EarlierTrials
    tracker: Tracker
    console: Console
    begun: float
    command: str | None = None

    def execute(self) -> int:
        """All trials that are missing, and the report; returns the exit code."""
        code = SOME_FAILED
        try:
            equal = EqualTrials(self.plan, self.bank, self.earlier)
            self._say_what_will_happen(equal)
            code = self._train(equal)
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

    def _say_what_will_happen(self, equal: EqualTrials) -> None:
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
        for sentence in equal.reused(self._done).sentences:
            self.console.print(in_terminal(sentence), highlight=False, soft_wrap=True)

    @property
    def _done(self) -> dict[str, Outcome]:
        return {trial: outcome for trial, outcome in self.outcomes.items() if outcome.final}

    def _train(self, equal: EqualTrials) -> int:
        """All trials; wall_s in study.json counts from the start of the program's work to the end of the last trial."""
        code, done, winners = DONE, self._done, dict[str, int]()
        records = RecordsOnDisk(self.earlier, self.out, bool(self.backend.gpus), partial(warn, self.console))
        study = self._study_progress(equal.by_arm({}))
        with Progress(study, done.values(), self.out, self.console, self.command) as progress:

            def selected(arm: str, number: int) -> None:
                winners[arm] = number
                progress.expect(equal.by_arm(winners))

            dispatcher = Dispatcher(self.plan, self.bank, self.out, done, [progress, self.tracker], selected)
            trials = Reusing(dispatcher, records, records.begun(done))
            try:
                with announced(self._say_stopping):
                    self.backend.run(trials, self.out, self.plan.trials)
            except KeyboardInterrupt:
                code = INTERRUPTED
        if code == DONE and not dispatcher.complete:
            code = SOME_FAILED
        wall_s = time.perf_counter() - self.begun
        end_execution(self.out, wall_s, trials.handed_out, exit_code=code)
        if records.reused:
            said = f"{records.sentence}; {trials.handed_out} trained here"
            self.console.print(in_terminal(said), highlight=False, soft_wrap=True)
        return code

    def _say_stopping(self) -> None:
        self.console.print("stopping … (running trials keep their last checkpoint)", highlight=False, soft_wrap=True)

    def _study_progress(self, reused: Mapping[str, TrialCounts]) -> StudyProgress:
        workload, test_images = Workload(self.plan, self.bank.development()), int(self.bank.summary["test"]["images"])
        lengths = {arm.name: workload.lengths(arm, test_images) for arm in self.plan.arms}
        return StudyProgress(self.study, lengths, self.backend.slots, reused)

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
        update_overview(self.out.parent, partial(warn, self.console))

    def _close(self, code: int) -> None:
        say("bringing MLflow up to date", self.console)
        self.tracker.close(STATUS_OF_STUDY[code], self.out)
        if code == INTERRUPTED:
            again = self.command or "the same call"
            self.console.print(f"interrupted; to go on: {in_terminal(again)}", highlight=False, soft_wrap=True)


def warn(console: Console, text: str) -> None:
    """Say what to know of, though nothing ends by it."""
    console.print(f"[yellow]{in_terminal(text)}[/]", highlight=False, soft_wrap=True)
