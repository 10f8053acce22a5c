"""The report of the whole paper, from the folders of its studies, from their records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmim_core.records import study_path, write_bytes
from fmim_reports.build import status_lines
from fmim_reports.drawing.plotting import DrawnFigure, Plot, plot_or_reason
from fmim_reports.page.environment import filled
from fmim_reports.page.files import write_figures, write_table
from fmim_reports.reading.cost import cost_of, trained_here
from fmim_reports.reading.results import Results, read_results
from fmim_reports.whole_paper.differences import (
    Row,
    agreement_table,
    counted,
    differences,
    differences_table,
    reason_sentences,
)
from fmim_reports.whole_paper.items import ITEMS, PaperItem
from fmim_reports.writing.captions import data_phrase, reuse_sentence, source_line
from fmim_reports.writing.columns import under
from fmim_reports.writing.tables import Column, Table

TITLE = "AdaTriplet and AutoMargin (MICCAI 2022), every table and figure again"
QUESTION = "Which numbers of the paper come out here, and what may explain those that do not?"


@dataclass(frozen=True)
class ShownItem:
    """A table or figure of the paper with ours; `missing` says why there is none, `not_drawn` why a figure is not."""

    item: PaperItem
    tables: Sequence[Table] = ()
    figures: Sequence[DrawnFigure] = ()
    not_drawn: Sequence[str] = ()
    missing: str = ""


def build_paper(out: Path) -> Path:
    """Write OUT/report from the studies in OUT, with page, report.md, tables and figures; return the page.

    A study that is not there, or only in part, is reported as far as it goes. Nothing is deleted.

    Raises:
        ValueError: none of the studies is there, or one has no readable study.json.
    """
    names = list(dict.fromkeys(item.study for item in ITEMS))
    studies = {name: read_results(out / name) for name in names if study_path(out / name).is_file()}
    if not studies:
        raise ValueError(f"{out} holds none of the studies {', '.join(names)}: fmim paper runs them")
    report, found, any_study = out / "report", differences(studies), next(iter(studies.values()))
    items = [_shown(item, studies, report) for item in ITEMS]
    own = {"overview": agreement_table(found), "differences": differences_table(found), "studies": _table(studies)}
    for table in (*own.values(), *(table for shown in items for table in shown.tables)):
        write_table(table, report)
    missing = [name for name in names if name not in studies]
    warnings = [f"Not run yet: {', '.join(missing)}."] if missing else []
    warnings += [f"{name}: {line}" for name, results in studies.items() for line in status_lines(results)]
    said = {"title": TITLE, "question": QUESTION, "lead": _lead(found), "reasons": reason_sentences(found)}
    data = {"data": data_phrase(any_study), "synthetic": any_study.study.data.synthetic, "warnings": warnings}
    paper = own | said | data | {"shown_items": items}
    write_bytes(report / "report.md", filled("whole_paper.md.j2", **paper))
    write_bytes(report / "index.html", filled("whole_paper.html.j2", **paper))
    return report / "index.html"


def _lead(found: Sequence[Row]) -> str:
    """Say how many numbers agree, and what the others have."""
    if not found:
        return "No number that the paper has is there yet."
    return (
        "Of {values} numbers of the paper, {within} are within 2 SE of ours, {known} are not and have a known "
        "difference, and {unexplained} are unexplained."
    ).format(**counted(found))


def _shown(item: PaperItem, studies: Mapping[str, Results], report: Path) -> ShownItem:
    if item.study not in studies:
        return ShownItem(item, missing=f"The study {item.study} has not run yet.")
    results = studies[item.study]
    plots = [plot_or_reason(make, results) for make in item.figures]
    figures = write_figures([plot for plot in plots if isinstance(plot, Plot)], source_line(results), report)
    not_drawn = [f"Figure not drawn: {plot}." for plot in plots if not isinstance(plot, Plot)]
    return ShownItem(item, [make(results) for make in item.tables], figures, not_drawn)


def _table(studies: Mapping[str, Results]) -> Table:
    """Say what each study is, and what it cost."""
    rows = [
        {"study": name, "preset": one.study.preset, "seed": one.study.seed, "fingerprint": one.study.fingerprint}
        | {"trials": len(one.every_trial), "reused": len(one.every_trial) - len(trained_here(one.every_trial))}
        | {"device_seconds": cost_of(one.every_trial).device_seconds}
        | {"here": cost_of(trained_here(one.every_trial)).device_seconds}
        for name, one in studies.items()
    ]
    columns = [
        *under("", "text", study="Study", preset="Preset"),
        Column("seed", "Seed", "count"),
        *under("Trials", "count", trials="All", reused="Reused"),
        *under("Device s", "seconds", device_seconds="Counted", here="Spent in it"),
        Column("fingerprint", "Fingerprint"),
    ]
    notes = [f"{name}: {text}" for name, one in studies.items() if (text := reuse_sentence(one.every_trial))]
    text = "Each study with its report lies in a folder of its own. A reused trial counts as what it cost where it ran."
    return Table("studies", "The studies", text, columns, rows, notes)
