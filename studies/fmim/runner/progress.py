"""Live progress on the terminal: trials done of total by arm, best so far, time left."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.table import Table

from fmim.plan import Plan
from fmim.runner.selection import Outcome, upwards
from fmim_core.metric_names import METRICS, Metric
from fmim_core.records import EpochRow, Record, TrialError, in_terminal
from fmim_core.trial.spec import TrialSpec

PLAIN_EVERY_S = 15.0  # between two lines where there is no terminal to redraw


@dataclass
class ArmState:
    """How far an arm is, or a reference: trials done, stopped and bad, and its best validation value of a fold so far.

    total: the most trials there can be as far as is known: where the first fold screens, each configuration that does
    not survive it has that one trial. The replicate that ends another search split is there only if its winner is not
    the study's, so it counts when it is over.
    """

    label: str
    total: int
    screens: bool
    done: int = 0
    stopped: int = 0
    bad: int = 0
    best: float | None = None

    def consider(self, value: float, metric: Metric) -> None:
        """Take in a fold's value, which may be the best one; not-a-number never is."""
        if value == value and (self.best is None or upwards(value, metric) > upwards(self.best, metric)):
            self.best = value


class Progress:
    """A table that redraws itself on a terminal, and a line now and then elsewhere."""

    def __init__(self, plan: Plan, slots: int, done: Mapping[str, Outcome], console: Console) -> None:
        self._metric, self._slots, self._console = METRICS[plan.study.metric], slots, console
        self._folds = plan.preset.folds
        self._arms = {
            arm.name: ArmState(arm.label, plan.search_trials_of(arm) + plan.replicates_of(arm), arm.searcher.screens)
            for arm in plan.arms
        }
        for planned in plan.references:
            self._arms[planned.name] = ArmState(planned.label, planned.replicates, screens=False)
        for outcome in done.values():
            self._count(outcome)
        self._already = sum(arm.done for arm in self._arms.values())
        self._begun = self._printed = time.monotonic()
        self._live = Live(console=console, get_renderable=self.table, refresh_per_second=2, transient=True)

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def started(self, spec: TrialSpec) -> None:
        """Nothing to show."""

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """Nothing to show."""

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """Count the trial; a bad one is named at once."""
        self._count(Outcome.of(record))
        self._already += record.reused_from is not None  # which says nothing of how long the others take
        if record.status not in ("completed", "stopped"):
            error = record.error or TrialError(kind="unknown")
            message = ((error.message or "").splitlines() or [""])[0][:200]
            said = in_terminal(f"{error.kind}: {message}")
            self._console.print(f"[yellow]{spec.id} {record.status}[/]: {said}", highlight=False)
        if not self._console.is_terminal and time.monotonic() - self._printed > PLAIN_EVERY_S:
            self._printed = time.monotonic()
            self._console.print(self.line(), highlight=False)

    def _count(self, outcome: Outcome) -> None:
        arm = self._arms[outcome.arm]
        arm.done += 1
        arm.total += outcome.ends_another_split
        arm.stopped += outcome.status == "stopped"
        arm.bad += outcome.status not in ("completed", "stopped")
        if arm.screens and outcome.fold == 0 and outcome.status != "completed":
            arm.total -= self._folds - 1
        value = (outcome.validation or {}).get(self._metric.name)
        if value is not None:
            arm.consider(value, self._metric)

    def line(self) -> str:
        """The whole in one line."""
        done, total = sum(arm.done for arm in self._arms.values()), sum(arm.total for arm in self._arms.values())
        return f"{done} of {total} trials, {self._time_left(done, total)}"

    def _time_left(self, done: int, total: int) -> str:
        finished = done - self._already
        if not finished:
            return f"{self._slots} at once"
        seconds = (time.monotonic() - self._begun) / finished * (total - done)
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"

    def table(self) -> Table:
        """The whole by arm."""
        table = Table("arm", "trials", f"best {self._metric.label} of a fold", title=self.line(), title_justify="left")
        for arm in self._arms.values():
            bad = f" ({arm.stopped} stopped)" if arm.stopped else ""
            bad += f" [yellow]({arm.bad} bad)[/]" if arm.bad else ""
            best = "–" if arm.best is None else f"{100 * arm.best:.1f} %"
            table.add_row(in_terminal(arm.label), f"{arm.done}/{arm.total}{bad}", best)
        return table
