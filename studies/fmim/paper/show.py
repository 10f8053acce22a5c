"""What `fmim paper --dry-run` prints."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from fmim.paper.run import PaperOptions
from fmim.paper.studies import PAPER_STUDIES, PaperStudy
from fmim.runner.checked import check_plan
from fmim.runner.reuse.known import reused_before


def show_paper(options: PaperOptions, console: Console) -> None:
    """The studies in order, with their trials and how many of these are reused."""
    numbers = [Column(name, justify="right", no_wrap=True) for name in ("trials", "reused")]
    table = Table("study", "for", *numbers, box=SIMPLE_HEAD, show_footer=True)
    trials, reused = [], []
    for study in PAPER_STUDIES:
        planned, known = _trials(options, study)
        trials.append(planned)
        reused.append(known)
        takes = f"; configurations from {study.selected_from}" if study.selected_from else ""
        table.add_row(study.name, study.shows + takes, str(planned), _most(known))
    known_ones = [known for known in reused if known is not None]
    table.columns[0].footer, table.columns[2].footer = "all", str(sum(trials))
    table.columns[3].footer = _most(sum(known_ones) if known_ones else None)
    console.print(table)
    console.print(
        "reused: equal to a trial that has run, or to another one of its study; the most there can be, since winners "
        "decide. What several of these studies share is trained by the first of them and reused by the others",
        highlight=False,
    )


def _most(known: int | None) -> str:
    return "not known" if known is None else f"≤ {known}"


def _trials(options: PaperOptions, study: PaperStudy) -> tuple[int, int | None]:
    """All trials of a study, and the most that are reused; None while that is not known of other studies' trials."""
    of_it = options.of(study)
    setup = of_it.setup
    checked = check_plan(of_it.plan(), setup)
    found = reused_before(checked.plan, checked.source, setup.banks, setup.studies, setup.reuse)
    return checked.plan.trials, found.trials if found.others_known else None
