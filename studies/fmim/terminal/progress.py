"""The progress of a study, in words and tables: for the process that runs it and for others; imports no torch."""

from __future__ import annotations

import math

from fmim.printing.table import TextTable
from fmim.runner.schedule.study_progress import StudyProgress


def in_one_line(study: StudyProgress, seconds_left: float | None) -> str:
    """Say how many trials are over, how many run, and for how long."""
    reuse = {"reused": study.reused_so_far, "more to be reused": study.to_reuse}
    said = ", ".join(f"{number} {what}" for what, number in reuse.items() if number)
    parts = [f"{study.done} of {study.total} trials are over" + (f" ({said})" if said else "")]
    if study.running:
        parts.append(f"{len(study.running)} running")
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
