"""What `fmim paper --dry-run` prints."""

from __future__ import annotations

from fmim.paper.run import PaperOptions
from fmim.paper.studies import PAPER_STUDIES, PaperStudy
from fmim.printing.console import TextConsole
from fmim.printing.table import TextTable
from fmim.runner.checked import check_plan
from fmim.runner.reuse.known import reused_before


def show_paper(options: PaperOptions, console: TextConsole) -> None:
    """Print the studies in order, with their trials and how many of these are reused."""
    numbers = ("trials", "reused")
    counts = [_trials(options, study) for study in PAPER_STUDIES]
    rows = []
    for study, (planned, known) in zip(PAPER_STUDIES, counts, strict=True):
        takes = f"; configurations from {study.selected_from}" if study.selected_from else ""
        rows.append((study.name, study.shows + takes, str(planned), _most(known)))
    known_ones = [known for _, known in counts if known is not None]
    all_known = _most(sum(known_ones) if known_ones else None)
    rows.append(("all", "", str(sum(planned for planned, _ in counts)), all_known))
    console.show(TextTable(("study", "for", *numbers), rows, frozenset(numbers)))
    console.say(
        "reused: equal to a trial that has run, or to another one of its study; the most there can be, since winners "
        "decide. What several of these studies share is trained by the first of them and reused by the others"
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
