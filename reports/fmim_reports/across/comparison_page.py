"""A comparison of studies as a page, with its tables as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fmim_core.records import write_bytes
from fmim_reports.across.differences import StudyDifference, not_compared
from fmim_reports.across.studies import ComparedStudy
from fmim_reports.across.tables import arms_table, differences_table, settings_table, studies_table
from fmim_reports.page.environment import filled
from fmim_reports.page.files import write_table
from fmim_reports.parts.comparisons.words import capital
from fmim_reports.writing.formats import p_text, points


def write_comparison(folder: Path, studies: Sequence[ComparedStudy], found: Sequence[StudyDifference]) -> Path:
    """Write `folder`/index.html, and each table under tables/ as CSV, Markdown and LaTeX; return the page."""
    tables = [studies_table(studies), settings_table(studies), arms_table(studies), differences_table(found)]
    for table in tables:
        write_table(table, folder)
    page = filled(
        "comparison.html.j2",
        studies=studies,
        reports={one.key: _report(one, folder) for one in studies},
        sentences=[_sentence(one) for one in found if one.value is not None],
        not_compared=not_compared(found),
        tables=tables,
    )
    write_bytes(folder / "index.html", page)
    return folder / "index.html"


def _report(one: ComparedStudy, folder: Path) -> str:
    """Return where a study's report lies, seen from the folder of the comparison; empty where there is none."""
    report = one.folder / "report" / "index.html"
    return Path(os.path.relpath(report.resolve(), folder.resolve())).as_posix() if report.is_file() else ""


def _sentence(one: StudyDifference) -> str:
    """Return `Triplet + Q1, B − A: +0.50 percentage points of test mAP (95 % CI …). Inconclusive; …`."""
    low, high = one.uncertainty.low, one.uncertainty.high
    interval = "" if low is None else f" (95 % CI over {one.over} {points(low)} to {points(high)}"
    interval += f"; {p_text(one.p_holm)} by Holm over {one.family})" if interval else ""
    size = f"{points(one.value)} percentage points of test {one.metric.label}{interval}"
    return f"{one.later.arm.label}, {one.name}: {size}. {capital(one.answer)}; {one.way}, {one.sample}."
