"""All studies of a folder at a glance: `index.html` beside them, from a few small files of each."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path

from fmim_core.records import ReportSummary, StudyFile, study_path, summary_path
from fmim_reports.page.templates import filled
from fmim_reports.reading.cost import cost_of
from fmim_reports.reading.results import Results
from fmim_reports.writing.formats import duration

MARK = '<meta name="generator" content="fmim overview">'
"""The mark in an overview's head; a page without it was not written here."""
_HEAD = 2000  # bytes in which the mark stands
_SENTENCES = 4  # of a study, before the others are folded


def summary_of(results: Results, sentences: Sequence[str], warnings: Sequence[str]) -> ReportSummary:
    """Return what an overview shows of a study: what was found, what is not as planned, its trials, and their cost."""
    trials = Counter(trial.status for trial in results.every_trial)
    trials["missing"] += sum(map(results.unproposed, results.arms))
    waiting = [results.planned(arm) for arm in results.arms if results.selected(arm.name) is None]
    trials["missing"] += sum(count for of in waiting for stage, count in of.items() if stage != "search")
    spent = cost_of(results.every_trial)
    return ReportSummary(
        study_id=results.study.id,
        executions=len(results.study.executions),
        sentences=list(sentences),
        warnings=list(warnings),
        trials=dict(+trials),
        device_seconds=spent.device_seconds + spent.wasted,
    )


class State(Enum):
    """The state of a study, in words."""

    COMPLETE = "complete"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    FAILED = "with failed trials"
    DAMAGED = "damaged"

    @property
    def needs_attention(self) -> bool:
        """Say if somebody has to do something about it."""
        return self not in (State.COMPLETE, State.RUNNING)


@dataclass(frozen=True)
class StudyOverview:
    """One study as its folder has it.

    Args:
        title: of the study; the name of its folder where it cannot be read, for the reason that `trouble` says.
        has_report: there is a page to look at.
        facts: what is said of it in numbers and names, as far as it is known.
        date: when it last ended, or began if it has not ended since; None where nothing says so.
        summary: of its report; None where there is none that can be read.
        up_to_date: the report was built after the study's last start.
    """

    folder: str
    title: str
    state: State
    has_report: bool
    facts: Sequence[tuple[str, str]]
    date: datetime | None = None
    summary: ReportSummary | None = None
    up_to_date: bool = False
    trouble: str = ""


def read_overview(folder: Path, in_use: Callable[[Path], bool]) -> list[StudyOverview]:
    """Return the studies that lie directly in a folder, the latest first; `in_use` says if a process works in one.

    A study is read from its study.json, its report/summary.json and the number of its records: none of these is
    opened, so that hundreds of studies take less than a second.
    """
    found = [_read(out, in_use) for out in sorted(folder.iterdir()) if study_path(out).is_file()]
    return sorted(found, key=lambda one: one.date.timestamp() if one.date else math.inf, reverse=True)


def _read(out: Path, in_use: Callable[[Path], bool]) -> StudyOverview:
    names = os.listdir(out / "records") if (out / "records").is_dir() else []
    records, has_report = sum(name.endswith(".json") for name in names), (out / "report" / "index.html").is_file()
    try:
        study = StudyFile.read(study_path(out), "study.json")
    except (ValueError, OSError) as error:
        facts = [("Records", str(records))]
        return StudyOverview(out.name, out.name, State.DAMAGED, has_report, facts, trouble=str(error))
    try:
        summary = ReportSummary.read(summary_path(out)) if summary_path(out).is_file() else None
    except ValueError:
        summary = None  # the next report writes it anew
    up_to_date = bool(summary and (summary.study_id, summary.executions) == (study.id, len(study.executions)))
    last = study.executions[-1] if study.executions else None
    code = last.exit_code if last else None
    # one that neither runs nor has come to its end was killed
    running = last is not None and last.ended_at is None and in_use(out)
    ends: dict[int | None, State] = {0: State.COMPLETE, 1: State.FAILED}
    state = State.RUNNING if running else ends.get(code, State.INTERRUPTED)
    date = datetime.fromisoformat(last.ended_at or last.started_at) if last else None
    # at most so many where no report says how many searches have stopped
    planned = f"at most {sum(study.plan.model_dump().values())}"
    found = [
        ("Last ended" if last and last.ended_at else "Started", date and f"{date:%Y-%m-%d %H:%M} UTC"),
        ("Study", f"{study.study}, preset {study.preset}, seed {study.seed}"),
        ("Data", study.data.phrase),
        ("Trials", f"{records} of {summary.planned if summary and up_to_date else planned}"),
        ("Device time", summary and duration(summary.device_seconds)),
    ]
    facts = [(name, text) for name, text in found if text]
    return StudyOverview(out.name, study.title, state, has_report, facts, date, summary, up_to_date)


def overview_page(title: str, studies: Sequence[StudyOverview], written: datetime) -> str:
    """Return the page of an overview."""
    found = Counter(one.state for one in studies)
    counts = [(state, found[state]) for state in State if found[state]]
    given = {"title": title, "studies": studies, "counts": counts, "written": written}
    return filled("overview.html.j2", **given, mark=MARK, most=_SENTENCES).decode()


def is_foreign(page: Path) -> bool:
    """Say if there is a page that no overview is, so that it must stay as it is."""
    if not os.path.lexists(page):
        return False
    if not page.is_file():
        return True
    with page.open("rb") as file:
        return MARK.encode() not in file.read(_HEAD)
