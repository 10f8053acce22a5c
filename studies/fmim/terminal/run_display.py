"""A run as the terminal shows it: what begins, how far it is, what it has found, and what can follow."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from fmim.plan import Plan
from fmim.printing import ProgressBar, TextConsole, TextTable
from fmim.runner.schedule.progress import StudyProgress
from fmim.terminal.status import arms_of, in_one_line, running_of
from fmim_reports.reading.results import Results
from fmim_reports.writing.formats import NOTHING, configuration_text, in_percent, mean_se_text

LINE_EVERY_S = 15.0  # where there is no terminal to redraw


class RunDisplay:
    """Shows a run as its observer: a table that redraws itself on a terminal, and a line now and then elsewhere.

    What is drawn waits for no lock: a signal may interrupt whoever has one, and draws as well.
    """

    def __init__(self, console: TextConsole) -> None:
        self._console = console
        self._redraws = console.is_terminal and not console.is_dumb_terminal
        self._live: Live | None = None
        self._bar = ProgressBar("decoding", console)
        self._study: StudyProgress | None = None
        self._left: tuple[float, float] | None = None  # seconds, and when that was known
        self._line: tuple[float, int] = (0.0, 0)  # when it was printed last, and with how many trials

    def __enter__(self) -> RunDisplay:
        return self

    def __exit__(self, *error: object) -> None:
        self.trials_over()
        self._bar.__exit__()

    def stage(self, what: str) -> None:
        """Say what begins now, and may take seconds."""
        self._console.stage(what)

    def note(self, fact: str) -> None:
        """Say a fact."""
        self._console.say(fact)

    def warn(self, fact: str) -> None:
        """Say what to know of, though nothing ends by it."""
        self._console.warn(fact)

    def error(self, problem: str) -> None:
        """Say what ends the run."""
        self._console.error(problem)

    def decoded(self, done: int, images: int) -> None:
        """Draw a bar, where there is a terminal, until all images are decoded."""
        self._bar(done, images)

    def planned(self, plan: Plan, slots: int, device: str) -> None:
        """Say what will run."""
        splits, winners = "", ""
        if plan.search_splits > 1:
            splits, winners = f" × {plan.search_splits} splits", " and other splits' winners"
        configurations = f"{sum(arm.budget for arm in plan.arms)} configurations × {plan.preset.folds} folds{splits}"
        parts = {
            f"search trials ({configurations})": plan.search_trials,
            "with a changed setting": plan.variation_trials,
            f"with fresh seeds of {len(plan.arms)} arms{winners}": plan.replicate_trials,
            f"of {len(plan.references)} references": plan.reference_trials,
        }
        said = ", ".join(f"{number} {what}" for what, number in parts.items() if number)
        for warning in plan.warnings:
            self.warn(warning)
        self._console.say(f"({plan.preset.name}: {plan.preset.about})", lead=plan.study.title, style="bold")
        most = "" if plan.exact else "at most "
        self._console.say(f"{most}{plan.trials} trials: {said}; {slots} at once on {device}")

    def progress(self, study: StudyProgress, seconds_left: float | None) -> None:
        """Show how far the study is, from now on where it redraws, else once in a while."""
        now = time.monotonic()
        begins, self._study = self._study is None, study
        self._left = None if seconds_left is None else (seconds_left, now)
        if begins:
            self._line = now, study.done
            if self._redraws:
                self._live = Live(
                    console=self._console, get_renderable=self.shown, refresh_per_second=2, transient=True
                )
                self._live.start()
        elif not self._redraws and self._line[1] < study.done and now - self._line[0] > LINE_EVERY_S:
            self._line = now, study.done
            self.note(self._in_one_line(study))

    def shown(self) -> RenderableType:
        """Draw the whole by arm, and the trials that run."""
        if self._study is None:
            return ""
        tables = (arms_of(self._study), running_of(self._study))
        return Group(Text(self._in_one_line(self._study)), *(table for table in tables if table.rows))

    def trials_over(self) -> None:
        """Draw no more."""
        self._study = None
        if self._live is not None:
            self._live.stop()
            self._live = None

    def results(self, results: Results, page: Path) -> None:
        """Show what the study has found, where its report lies, and what can follow."""
        show_results(results, self._console)
        self.note(f"report: {page}")
        show_next(results.out, self._console)

    def _in_one_line(self, study: StudyProgress) -> str:
        left = None if self._left is None else max(0.0, self._left[0] - (time.monotonic() - self._left[1]))
        begins = not study.done and not study.running
        return in_one_line(study, left) + (": the processes of the first ones are starting" if begins else "")


NUMBERS = ("validation", "test", "N_s")


def show_results(results: Results, console: TextConsole) -> None:
    """Print the arms, and the answer of the report."""
    from fmim_reports.reading.summary import arm_summaries
    from fmim_reports.studies import contents_of
    from fmim_reports.writing.captions import chosen_word

    rows = []
    for arm in arm_summaries(results):
        validation = in_percent(arm.validation.stat.mean) if arm.validation.stat.n else NOTHING
        missing = "" if arm.test.complete else f" ({arm.test.n_text} seeds)"  # 81.30 ± 0.42 (4 of 5 seeds)
        test = (mean_se_text(arm.test.stat) if arm.test.stat.n else NOTHING) + missing
        rows.append((arm.label, configuration_text(arm.configuration), validation, test, str(arm.cost.n_s or NOTHING)))
    columns = ("arm", chosen_word(results), *NUMBERS)
    console.show(TextTable(columns, rows, frozenset(NUMBERS)))
    what = f"{results.metric.label}, %: validation is the mean over folds, test the mean ± SE over fresh seeds"
    console.say(what if results.searched else f"{what}; this study searched nothing, so it has no N_s", style="dim")
    for sentence in contents_of(results).verdict(results).sentences:
        console.say(sentence)


def show_next(out: Path, console: TextConsole) -> None:
    """Print what can be done with a study that has run."""
    folder = shlex.quote(os.path.relpath(out))
    steps = {
        f"fmim status {folder}": "progress of each arm",
        f"fmim ui {folder}": "the trials in MLflow",
        f"fmim match {folder} QUERY --arm ARM --gallery TABLE": "find people on images",
    }
    for command, what in steps.items():
        console.say(f"{what}: {command}")
