"""Builds the report of the whole paper from the folders of its studies, from their records alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fmim_core.records import study_path, write_bytes
from fmim_reports.build import status_lines
from fmim_reports.page.environment import filled
from fmim_reports.page.files import DrawnFigure, write_figures, write_table
from fmim_reports.reading.cost import cost_of, trained_here
from fmim_reports.reading.results import Results, read_results
from fmim_reports.whole_paper.differences import (
    UNEXPLAINED,
    WITHIN,
    Difference,
    differences,
    differences_table,
    overview_table,
    reason_sentences,
)
from fmim_reports.whole_paper.items import ITEMS, PaperItem
from fmim_reports.writing.captions import data_phrase, reuse_sentence
from fmim_reports.writing.tables import Column, Table

TITLE = "AdaTriplet and AutoMargin (MICCAI 2022), every table and figure again"
QUESTION = "Which numbers of the paper come out here, and what may explain those that do not?"


@dataclass(frozen=True)
class ShownItem:
    """A table or figure of the paper with ours; `missing` says why there is none, `not_drawn` why a figure is not."""

    item: PaperItem
    tables: tuple[Table, ...] = ()
    figures: tuple[DrawnFigure, ...] = ()
    not_drawn: tuple[str, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class Paper:
    """All that the report of the whole paper says."""

    data: str
    synthetic: bool
    warnings: tuple[str, ...]
    lead: str
    reasons: tuple[str, ...]
    overview: Table
    items: tuple[ShownItem, ...]
    differences: Table
    studies: Table
    title: str = TITLE
    question: str = QUESTION

    @property
    def tables(self) -> Iterator[Table]:
        """Every table, each once."""
        yield from (self.overview, self.differences, self.studies)
        for shown in self.items:
            yield from shown.tables


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
    report = out / "report"
    paper = _paper(studies, names, report)
    for table in paper.tables:
        write_table(table, report)
    write_bytes(report / "report.md", filled("whole_paper.md.j2", paper=paper))
    write_bytes(report / "index.html", filled("whole_paper.html.j2", paper=paper))
    return report / "index.html"


def _paper(studies: Mapping[str, Results], names: list[str], report: Path) -> Paper:
    """The report, of which the figures are written as they are drawn."""
    found = differences(studies)
    any_study = next(iter(studies.values()))
    missing = [name for name in names if name not in studies]
    warnings = [f"Not run yet: {', '.join(missing)}."] if missing else []
    warnings += [f"{name}: {line}" for name, results in studies.items() for line in status_lines(results)]
    return Paper(
        data=data_phrase(any_study),
        synthetic=any_study.study.data.synthetic,
        warnings=tuple(warnings),
        lead=_lead(found),
        reasons=tuple(reason_sentences(found)),
        overview=overview_table(found),
        items=tuple(_shown(item, studies, report) for item in ITEMS),
        differences=differences_table(found),
        studies=_studies_table(studies),
    )


def _lead(found: list[Difference]) -> str:
    """How many numbers agree, and what the others have."""
    if not found:
        return "No number that the paper has is there yet."
    within = sum(one.explanation == WITHIN for one in found)
    unexplained = sum(one.explanation == UNEXPLAINED for one in found)
    return (
        f"Of {len(found)} numbers of the paper, {within} are within 2 SE of ours, {len(found) - within - unexplained} "
        f"are not and have a known difference, and {unexplained} are unexplained."
    )


def _shown(item: PaperItem, studies: Mapping[str, Results], report: Path) -> ShownItem:
    if item.study not in studies:
        return ShownItem(item, missing=f"The study {item.study} has not run yet.")
    results = studies[item.study]
    figures, reasons = write_figures(dict(enumerate(item.figures)), results, report)
    not_drawn = tuple(f"Figure not drawn: {why}." for why in reasons.values())
    return ShownItem(item, tuple(make(results) for make in item.tables), tuple(figures), not_drawn)


def _studies_table(studies: Mapping[str, Results]) -> Table:
    """What each study is, and what it cost."""
    rows = []
    for name, results in studies.items():
        cost = cost_of(results.every_trial)
        here = cost_of(trained_here(results.every_trial))
        rows.append(
            {
                "study": name,
                "preset": results.study.preset,
                "seed": results.study.seed,
                "trials": len(results.every_trial),
                "reused": sum(bool(trial.reused_from) for trial in results.every_trial),
                "device_seconds": cost.device_seconds,
                "here": here.device_seconds,
                "fingerprint": results.study.fingerprint,
            }
        )
    columns = [
        Column("study", "Study"),
        Column("preset", "Preset"),
        Column("seed", "Seed", "count"),
        Column("trials", "All", "count", "Trials"),
        Column("reused", "Reused", "count", "Trials"),
        Column("device_seconds", "Counted", "seconds", "Device s"),
        Column("here", "Spent in it", "seconds", "Device s"),
        Column("fingerprint", "Fingerprint"),
    ]
    notes = [f"{name}: {text}" for name, one in studies.items() if (text := reuse_sentence(one.every_trial))]
    text = "Each study with its report lies in a folder of its own. A reused trial counts as what it cost where it ran."
    return Table("studies", "The studies", text, columns, rows, notes)
