"""The progress of a study: as `fmim status` shows it, and for the process that runs it; this imports no torch."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from fmim.printing import TextConsole, TextTable
from fmim.runner.folder.locks import owner
from fmim.runner.schedule.progress import ArmProgress, StudyProgress
from fmim.runner.search.selection import Outcome
from fmim_core.records import (
    ProgressFile,
    SelectionFile,
    StudyFile,
    progress_path,
    read_records,
    study_path,
    without_controls,
)


def in_one_line(study: StudyProgress, seconds_left: float | None) -> str:
    """Say how many trials are over, how many run, and for how long."""
    reuse = {"reused": study.reused_so_far, "more will be reused": study.to_reuse}
    said = ", ".join(f"{number} {what}" for what, number in reuse.items() if number)
    parts = [f"{study.done} of {study.total} trials are over" + (f" ({said})" if said else "")]
    if study.running:
        parts.append(f"{len(study.running)} running{'' if study.done else ', the first ones'}")
    if seconds_left is not None and study.done < study.total:
        parts.append(f"{about(seconds_left)} left")
    return ", ".join(parts)


def arms_of(study: StudyProgress) -> TextTable:
    """List each arm and reference with its trials, and its best fold."""
    rows = []
    for arm in study.arms.values():
        notes = [f"{arm.statuses['stopped']} stopped"] if arm.statuses["stopped"] else []
        notes += [f"{arm.bad} bad"] if arm.bad else []
        trials = f"{arm.done}/{arm.total}" + (f" ({', '.join(notes)})" if notes else "")
        rows.append((arm.label, trials, percent(arm.best)))
    return TextTable(("arm", "trials", f"best {study.metric.label} of a fold"), rows)


def running_of(study: StudyProgress) -> TextTable:
    """List each running trial with its epoch and its best value so far."""
    rows = [(one.trial, f"{one.epoch}/{one.epochs}", percent(one.best)) for one in list(study.running.values())]
    return TextTable(("running", "epoch", "best validation mAP"), rows)


def percent(value: float | None) -> str:
    """Write a share as 81.3 %."""
    return "–" if value is None else f"{100 * value:.1f} %"


def about(seconds: float) -> str:
    """Write a duration that is not exact: `about 40 s`, `about 12 min`, `about 3 h 20 min`, `about 2 days 5 h`."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    minutes = math.ceil(seconds / 60)
    if minutes < 90:
        return f"about {minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"about {hours} h {minutes} min" if hours < 36 else f"about {hours // 24} days {hours % 24} h"


WATCHED_EVERY_S = 2.0
DAMAGED_SHOWN = 3
READING_SHARE = 5.0  # pauses are so many times as long as reading the records takes


class StudyStatus:
    """The progress of a study now.

    owner: the process that runs it; None where none does. command: goes on with it, where that is known.
    damaged: of each file that cannot be read the reason, which names it; the others count.

    Raises:
        ValueError: study.json cannot be read.
    """

    def __init__(self, out: Path) -> None:
        self.out, self.study, self.owner, written = out, StudyFile.read(study_path(out)), owner(out), None
        with suppress(ValueError, FileNotFoundError):  # it is written again when the study runs
            written = ProgressFile.read(progress_path(out))
        lengths, reused = (written.lengths, written.reused) if written else ({}, {})
        self.progress = StudyProgress(self.study, lengths, self.study.executions[-1].slots, reused)
        self.failed, self.damaged = 0, list[str]()
        records = read_records(out, lambda path, error: self.damaged.append(str(error)), ValueError)
        for outcome in map(Outcome.of, records):
            self.failed += outcome.status == "failed"
            if self.owner or outcome.final:  # a failed one runs again when the study goes on
                self.progress.count(outcome)
        if self.owner and written:
            self.progress.running |= {one.trial: one for one in written.running}
        try:
            self.selected = dict((SelectionFile.find(out / "selection.json") or SelectionFile()).arms)
        except ValueError as error:
            self.selected = {}
            self.damaged.append(str(error))
        self.command = written.command if written else None
        self.seconds_left = self.progress.seconds_left(datetime.now(UTC))

    @cached_property
    def complete(self) -> bool:
        """True where no trial is left, and none follows."""
        return self.progress.done >= self.progress.total and not self.gets_more_seeds

    @cached_property
    def gets_more_seeds(self) -> bool:
        """Return whether a study that adds seeds until all is decided was stopped between two blocks of them."""
        seeds = max(arm.replicates for arm in self.study.arms)
        if self.owner or not self.study.looks or seeds >= self.study.looks[-1]:
            return False
        from fmim_reports.parts.comparisons.comparison import comparisons
        from fmim_reports.reading.results import read_results

        return any(one.undecided for one in comparisons(read_results(self.out)))

    @property
    def shown(self) -> RenderableType:
        """The status as `fmim status` prints it."""
        line = f"{self.study.study} ({self.study.preset}): {in_one_line(self.progress, None)}"
        tables = (self._arms(), running_of(self.progress))
        lines = (Text(without_controls(one)) for one in (line, self._now(), *self._not_counted()))
        return Group(*lines, *(table for table in tables if table.rows))

    def _now(self) -> str:
        left = "" if self.complete or self.seconds_left is None else f"; {about(self.seconds_left)} left"
        if self.owner:
            return f"running: {self.owner}{left}"
        if self.complete:
            return "complete; nothing runs"
        failed = f"; {self.failed} failed and will run again" if self.failed else ""
        seeds = "; the compared arms get more seeds" if self.gets_more_seeds else ""
        return f"not running{failed}{seeds}{left}; to continue: {self.command or 'give the same command again'}"

    def _not_counted(self) -> Iterator[str]:
        """Say which files cannot be read, at most the first few."""
        if self.damaged:
            shown = self.damaged[:DAMAGED_SHOWN]
            more = f"\n  and {len(self.damaged) - len(shown)} more" if len(shown) < len(self.damaged) else ""
            yield "\n  ".join(["cannot be read, and does not count:", *shown]) + more

    def _arms(self) -> TextTable:
        arms = self.progress.arms.values()
        statuses = sorted({status for arm in arms for status in arm.statuses})
        numbers = (*statuses, "planned", f"best {self.progress.metric.label} of a fold")
        rows = []
        for arm in arms:
            counts = [str(arm.statuses[status]) for status in statuses] + [str(arm.total)]
            rows.append((arm.label, *counts, percent(arm.best), self._selected(arm)))
        return TextTable(("arm or reference", *numbers, "selected"), rows, frozenset(numbers))

    def _selected(self, arm: ArmProgress) -> str:
        """Return the configuration that is selected for an arm, and its score; a dash while there is none."""
        one = self.selected.get(arm.name)
        if one is None or one.configuration is None:
            return "–"
        values = ", ".join(f"{name} = {value}" for name, value in one.configuration.items()) or "the only one"
        return values if one.score is None else f"{values} ({percent(one.score)})"

    @property
    def as_json(self) -> str:
        """The status for programs; the guide says what the fields are."""
        progress, arms = self.progress, []
        for arm in progress.arms.values():
            selected = self.selected.get(arm.name)
            arms.append(
                {"name": arm.name, "label": arm.label, "reference": arm.reference, "planned": arm.total}
                | {"statuses": dict(arm.statuses), "best_of_a_fold": arm.best}
                | {"selected": selected and selected.configuration, "selected_score": selected and selected.score}
            )
        fields = {
            "study": self.study.study,
            "preset": self.study.preset,
            "out": str(self.out),
            "complete": self.complete,
            "trials": {"over": progress.done, "planned": progress.total, "failed": self.failed}
            | {"reused": progress.reused_so_far, "to_reuse": progress.to_reuse},
            "process": self.owner,
            "seconds_left": self.seconds_left,
            "command": self.command,
            "metric": progress.metric.name,
            "arms": arms,
            "damaged": self.damaged,
            "running": [one.model_dump(mode="json") for one in progress.running.values()],
        }
        return json.dumps(fields, indent=1, ensure_ascii=False)


def watch_status(out: Path, console: TextConsole) -> None:
    """Show it again and again, as long as a process runs the study; Ctrl-C ends the watching alone."""
    with suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        while True:
            begun = time.monotonic()
            status = StudyStatus(out)
            live.update(status.shown, refresh=True)
            if status.owner is None:
                return
            time.sleep(max(WATCHED_EVERY_S, READING_SHARE * (time.monotonic() - begun)))
