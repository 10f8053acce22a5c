"""The report of the whole paper: its tables and figures in its order, from the folders of its studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fmim_core.records import study_path
from fmim_reports.build import status_lines
from fmim_reports.drawing.plotting import Plot, plot_or_reason
from fmim_reports.page.files import Part, write_figures, write_several
from fmim_reports.parts.arms import arms_beside_published
from fmim_reports.parts.queries.pictures import samples_plot
from fmim_reports.parts.training.dynamics import distributions_plot, margins_plot
from fmim_reports.parts.training.surfaces import surfaces_plot
from fmim_reports.reading.cost import cost_of, trained_here
from fmim_reports.reading.results import Results, read_results
from fmim_reports.studies import MakePlot, MakeTable
from fmim_reports.studies.automargin_vs_grid import grid_table, heat_plot
from fmim_reports.studies.baselines import ours_table, published_table, years_plot
from fmim_reports.studies.hyperparameter_selection import selection_plot, selection_table
from fmim_reports.studies.lambda_sweep import lambda_plot, lambda_table
from fmim_reports.studies.margin_sensitivity import margin_plot, margin_table
from fmim_reports.studies.training_dynamics import milestones_table
from fmim_reports.whole_paper.differences import (
    agreement_table,
    answer,
    differences,
    differences_table,
    reason_sentences,
)
from fmim_reports.writing.captions import reuse_sentence, source_line
from fmim_reports.writing.columns import under
from fmim_reports.writing.tables import Column, Table

TITLE = "AdaTriplet and AutoMargin (MICCAI 2022): all tables and figures reproduced"
QUESTION = "Which numbers of the paper are reproduced, and what may explain the others?"


@dataclass(frozen=True)
class PaperItem:
    """A table or figure of the paper: what it is called there, what it shows, and what of which study stands for it."""

    label: str
    shows: str
    study: str
    tables: tuple[MakeTable, ...] = ()
    figures: tuple[MakePlot, ...] = ()


ITEMS = (
    PaperItem("Fig. 1(a)", "what each loss finds first", "baselines", figures=(samples_plot,)),
    PaperItem("Fig. 1(b, c)", "surfaces of the losses", "training_dynamics", figures=(surfaces_plot,)),
    PaperItem("Fig. 2(a)", "sensitivity to ε", "margin_sensitivity", (margin_table,), (margin_plot,)),
    PaperItem("Fig. 2(b, c), Fig. 3(b)", "Δ and φ_an in training", "training_dynamics", figures=(distributions_plot,)),
    PaperItem("Fig. 3(a)", "margins and loss in training", "training_dynamics", (milestones_table,), (margins_plot,)),
    PaperItem("Table 1(a)", "the weight λ", "lambda_sweep", (lambda_table,), (lambda_plot,)),
    PaperItem("Tables 1(b) and 1(c)", "ways to set the margins", "automargin_vs_grid", (arms_beside_published,)),
    PaperItem("Fig. 4", "losses by years after baseline", "baselines", figures=(years_plot,)),
    PaperItem(
        "Suppl. Table 1(b)",
        "selected hyperparameters",
        "hyperparameter_selection",
        (selection_table,),
        (selection_plot,),
    ),
    PaperItem("Suppl. Table 3", "grid search against AutoMargin", "automargin_vs_grid", (grid_table,), (heat_plot,)),
    PaperItem("Suppl. Tables 4 and 5", "losses by years after baseline", "baselines", (ours_table, published_table)),
)
"""Suppl. Tables 1(a), a list of augmentations, and 2, a description of data sets, need no training."""


def build_paper(out: Path) -> Path:
    """Write OUT/report from the studies in OUT, with page, report.md, tables and figures; return the page.

    A study that is not there, or only in part, is reported as far as it goes. Nothing is deleted.

    Raises:
        ValueError: none of the studies is there, or one has no readable study.json.
    """
    names = list(dict.fromkeys(item.study for item in ITEMS))
    studies = {name: read_results(out / name) for name in names if study_path(out / name).is_file()}
    if not studies:
        raise ValueError(f"{out} has none of the studies {', '.join(names)}: `fmim paper` runs them")
    report, found, any_study = out / "report", differences(studies), next(iter(studies.values()))
    missing = [name for name in names if name not in studies]
    warnings = [f"Not run yet: {', '.join(missing)}."] if missing else []
    warnings += [f"{name}: {line}" for name, results in studies.items() for line in status_lines(results)]
    lead = answer(found, any_study.study.data.phrase)
    parts = [
        Part("Agreement", [agreement_table(found)]),
        *(_shown(item, studies, report) for item in ITEMS),
        Part("All values: beside the published ones", folded=[differences_table(found)]),
        Part("Studies", [_studies_table(studies)]),
    ]
    said = {"title": TITLE, "question": QUESTION, "lead": lead, "findings": reason_sentences(found)}
    data = {"data": any_study.study.data.phrase, "synthetic": any_study.study.data.synthetic, "warnings": warnings}
    return write_several(report, parts, **said, **data)


def _shown(item: PaperItem, studies: Mapping[str, Results], report: Path) -> Part:
    """Return a table or figure of the paper with ours for the page, and why one of ours is not there."""
    heading = f"{item.label}: {item.shows}"
    if item.study not in studies:
        return Part(heading, notes=[f"The study {item.study} has not run yet."])
    results = studies[item.study]
    plots = [plot_or_reason(make, results) for make in item.figures]
    figures = write_figures([plot for plot in plots if isinstance(plot, Plot)], source_line(results), report)
    not_drawn = [f"Figure not drawn: {plot}." for plot in plots if not isinstance(plot, Plot)]
    return Part(heading, [make(results) for make in item.tables], (), figures, not_drawn, [item.study])


def _studies_table(studies: Mapping[str, Results]) -> Table:
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
    text = "Each study has its own folder with its report. A reused trial counts what it cost where it ran."
    return Table("studies", "The studies", text, columns, rows, notes)
