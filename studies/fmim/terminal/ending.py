"""What is printed when a study ends: its arms as a table, and the answer in plain sentences."""

from __future__ import annotations

from rich.console import Console

from fmim.terminal.tables import Listing, show
from fmim_core.records import in_terminal
from fmim_reports.parts.comparisons.plain import plain_sentences
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, Estimate, arm_summaries
from fmim_reports.writing.captions import chosen_word
from fmim_reports.writing.formats import NOTHING, configuration_text, in_percent, mean_se_text

NUMBERS = ("validation", "test", "N_s")


def show_results(results: Results, console: Console) -> None:
    """The arms, and the answer of each comparison."""
    rows = [_row(arm) for arm in arm_summaries(results)]
    columns = ("arm", chosen_word(results), *NUMBERS)
    show(console, Listing(columns, rows, frozenset(NUMBERS)).fitting(console))
    what = f"{results.metric.label}, %: validation is the mean over folds, test the mean ± SE over fresh seeds"
    show(console, f"[dim]{in_terminal(what)}[/]", *map(in_terminal, plain_sentences(results)))


def _row(arm: ArmSummary) -> tuple[str, ...]:
    validation = in_percent(arm.validation.stat.mean) if arm.validation.stat.n else NOTHING
    return (arm.label, configuration_text(arm.configuration), validation, _test(arm.test), str(arm.cost.n_s))


def _test(found: Estimate) -> str:
    """`81.30 ± 0.42`; of seeds that are missing it is said how many there are."""
    missing = "" if found.complete else f" ({found.n_text} seeds)"
    return (mean_se_text(found.stat) if found.stat.n else NOTHING) + missing
