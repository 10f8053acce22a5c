"""Who watches a run: what a run tells, for a terminal to show or a program to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from fmim.plan import Plan
from fmim.runner.schedule.progress import StudyProgress
from fmim_reports.reading.results import Results


class RunObserver(Protocol):
    """Someone who is told what happens in a run, from any thread."""

    def stage(self, what: str) -> None:
        """Take note of what begins now, and may take seconds."""

    def note(self, fact: str) -> None:
        """Take note of a fact."""

    def warn(self, fact: str) -> None:
        """Take note of what to know of, though nothing ends by it."""

    def error(self, problem: str) -> None:
        """Take note of what ends the run."""

    def decoded(self, done: int, images: int) -> None:
        """Take note of how many of a data set's images are decoded."""

    def planned(self, plan: Plan, slots: int, device: str) -> None:
        """Take note of what will run, so many trials at once."""

    def progress(self, study: StudyProgress, seconds_left: float | None) -> None:
        """Take note of how far the study is, and keep it, for it goes on; told every few seconds while trials run."""

    def trials_over(self) -> None:
        """Take note that no trial runs any more."""

    def results(self, results: Results, page: Path) -> None:
        """Take note of what the study has found, and where its report lies."""
