"""What `fmim paper --dry-run` prints."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from fmim.paper.run import PaperOptions
from fmim.paper.studies import PAPER_STUDIES, PaperStudy
from fmim.runner.reuse.earlier import earlier_of
from fmim.runner.reuse.known import there_already
from fmim.runner.run_study import prepare
from fmim_core.data.bank.building import find_bank


def show_paper(options: PaperOptions, console: Console) -> None:
    """The studies in order, with their trials and how many of these are there already."""
    numbers = [Column(name, justify="right", no_wrap=True) for name in ("trials", "there already")]
    table = Table("study", "for", *numbers, box=SIMPLE_HEAD, show_footer=True)
    trials, there = [], []
    for study in PAPER_STUDIES:
        planned, known = _trials(options, study)
        trials.append(planned)
        there.append(known)
        takes = f"; configurations from {study.selected_from}" if study.selected_from else ""
        table.add_row(study.name, study.shows + takes, str(planned), _most(known))
    known_ones = [known for known in there if known is not None]
    table.columns[0].footer, table.columns[2].footer = "all", str(sum(trials))
    table.columns[3].footer = _most(sum(known_ones) if known_ones else None)
    console.print(table)
    console.print(
        "there already: the most it can be, since it depends on the winners. What several of these studies share is "
        "trained by the first of them and reused by the others",
        highlight=False,
    )


def _most(known: int | None) -> str:
    return "not known" if known is None else f"≤ {known}"


def _trials(options: PaperOptions, study: PaperStudy) -> tuple[int, int | None]:
    """All trials of a study, and the most that are there; None while its images are not decoded."""
    of_it = options.of(study)
    checked = prepare(of_it)
    bank = find_bank(checked.source, checked.plan.preset.image_size, of_it.banks_folder)
    if bank is None:
        return checked.plan.trials, None
    return checked.plan.trials, there_already(checked.plan, bank, earlier_of(of_it, checked.plan, bank)).trials
