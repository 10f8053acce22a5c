"""`fmim status`: how far a study is, by its records and by what the process that runs it writes; imports no torch."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live

from fmim.runner.folder.ownership import owner
from fmim.runner.schedule.study_progress import ArmProgress, StudyProgress
from fmim.runner.search.selection import Outcome
from fmim.terminal.progress import about, in_one_line, percent, running_of
from fmim.terminal.tables import Listing, show
from fmim_core.records import (
    Damaged,
    FixedSelection,
    ProgressFile,
    SelectionFile,
    StudyFile,
    in_terminal,
    progress_path,
    read_records,
    study_path,
)

WATCHED_EVERY_S = 2.0
READING_SHARE = 5.0  # pauses are so many times as long as reading the records takes


@dataclass(frozen=True)
class StudyStatus:
    """How far a study is now.

    owner: the process that runs it; None where none does. command: goes on with it, where that is known.
    """

    out: Path
    study: StudyFile
    progress: StudyProgress
    failed: int
    selection: SelectionFile
    owner: str | None
    command: str | None
    seconds_left: float | None

    @classmethod
    def of(cls, out: Path) -> StudyStatus:
        """That of a study's folder.

        Raises:
            ValueError: a document or record cannot be read.
        """
        study, running_in = StudyFile.read(study_path(out)), owner(out)
        written = _progress_file(out)
        lengths, reused = (written.lengths, written.reused) if written else ({}, {})
        progress = StudyProgress(study, lengths, study.executions[-1].slots, reused)
        failed = 0
        for outcome in map(Outcome.of, read_records(out)):
            failed += outcome.status == "failed"
            if running_in or outcome.final:  # a failed one runs again when the study goes on
                progress.count(outcome)
        if running_in and written:
            progress.running |= {one.trial: one for one in written.running}
        selected = out / "selection.json"
        return cls(
            out=out,
            study=study,
            progress=progress,
            failed=failed,
            selection=SelectionFile.read(selected) if selected.exists() else SelectionFile(),
            owner=running_in,
            command=written.command if written else None,
            seconds_left=progress.seconds_left(datetime.now(UTC)),
        )

    @property
    def complete(self) -> bool:
        """Whether no trial is left."""
        return self.progress.done >= self.progress.total

    def shown(self, console: Console) -> list[RenderableType]:
        """As `fmim status` prints it."""
        line = f"{self.study.study} ({self.study.preset}): {in_one_line(self.progress, None)}"
        tables = (self._arms(), running_of(self.progress))
        return [in_terminal(line), in_terminal(self._now()), *(one.fitting(console) for one in tables if one.rows)]

    def _now(self) -> str:
        left = "" if self.complete or self.seconds_left is None else f"; {about(self.seconds_left)} left"
        if self.owner:
            return f"running: {self.owner}{left}"
        if self.complete:
            return "complete; nothing runs"
        failed = f"; {self.failed} failed and run again" if self.failed else ""
        return f"not running{failed}{left}; to go on: {self.command or 'the command that began it, once more'}"

    def _arms(self) -> Listing:
        statuses = sorted({status for arm in self.progress.arms.values() for status in arm.statuses})
        best = f"best {self.progress.metric.label} of a fold"
        columns = ("arm or reference", *statuses, "planned", best, "selected")
        rows = [
            (
                arm.label,
                *(str(arm.statuses[status]) for status in statuses),
                str(arm.total),
                percent(arm.best),
                self._selected(arm),
            )
            for arm in self.progress.arms.values()
        ]
        return Listing(columns, rows, frozenset((*statuses, "planned", best)))

    def _selected(self, arm: ArmProgress) -> str:
        """The configuration that is selected for an arm, and its score; a dash while there is none."""
        one = self._winner(arm)
        if one is None or one.configuration is None:
            return "–"
        values = ", ".join(f"{name} = {value}" for name, value in one.configuration.items()) or "the only one"
        return values if one.score is None else f"{values} ({percent(one.score)})"

    def _winner(self, arm: ArmProgress) -> FixedSelection | None:
        return self.selection.arms.get(arm.name)

    @property
    def as_json(self) -> str:
        """For programs; the guide says what the fields are."""
        return json.dumps(self._fields(), indent=1, ensure_ascii=False)

    def _fields(self) -> dict[str, Any]:
        progress = self.progress
        return {
            "study": self.study.study,
            "preset": self.study.preset,
            "out": str(self.out),
            "complete": self.complete,
            "trials": {
                "over": progress.done,
                "planned": progress.total,
                "failed": self.failed,
                "reused": progress.reused_so_far,
                "to_reuse": progress.to_reuse,
            },
            "process": self.owner,
            "seconds_left": self.seconds_left,
            "command": self.command,
            "metric": progress.metric.name,
            "arms": [self._arm_fields(arm) for arm in progress.arms.values()],
            "running": [one.model_dump(mode="json") for one in progress.running.values()],
        }

    def _arm_fields(self, arm: ArmProgress) -> dict[str, Any]:
        one = self._winner(arm)
        return {
            "name": arm.name,
            "label": arm.label,
            "reference": arm.reference,
            "planned": arm.total,
            "statuses": dict(arm.statuses),
            "best_of_a_fold": arm.best,
            "selected": None if one is None else one.configuration,
            "selected_score": None if one is None else one.score,
        }


def _progress_file(out: Path) -> ProgressFile | None:
    """progress.json; None where there is none that can be read: it is written again when the study runs."""
    try:
        return ProgressFile.read(progress_path(out))
    except (Damaged, FileNotFoundError):
        return None


def show_status(out: Path, console: Console) -> None:
    """Print how far a study is."""
    show(console, *StudyStatus.of(out).shown(console))


def watch_status(out: Path, console: Console) -> None:
    """Show it again and again, as long as a process runs the study; Ctrl-C ends the watching alone."""
    with suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        while True:
            begun = time.monotonic()
            status = StudyStatus.of(out)
            live.update(Group(*status.shown(console)), refresh=True)
            if status.owner is None:
                return
            time.sleep(max(WATCHED_EVERY_S, READING_SHARE * (time.monotonic() - begun)))
