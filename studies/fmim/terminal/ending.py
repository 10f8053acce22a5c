"""The end of a study as it is printed: its arms as a table, the answer in plain sentences, and what can follow."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from fmim.printing.console import TextConsole
from fmim.printing.table import TextTable
from fmim_reports.parts.comparisons.words import plain_sentences
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, Estimate, arm_summaries
from fmim_reports.writing.captions import chosen_word
from fmim_reports.writing.formats import NOTHING, configuration_text, in_percent, mean_se_text

NUMBERS = ("validation", "test", "N_s")


def show_results(results: Results, console: TextConsole) -> None:
    """Print the arms, and the answer of each comparison."""
    rows = [_row(arm) for arm in arm_summaries(results)]
    columns = ("arm", chosen_word(results), *NUMBERS)
    console.show(TextTable(columns, rows, frozenset(NUMBERS)))
    what = f"{results.metric.label}, %: validation is the mean over folds, test the mean ± SE over fresh seeds"
    console.say(what, style="dim")
    for sentence in plain_sentences(results):
        console.say(sentence)


def show_next(out: Path, console: TextConsole) -> None:
    """Print what can be done with a study that has run."""
    folder = shlex.quote(os.path.relpath(out))
    steps = {
        f"fmim status {folder}": "how far each arm is",
        f"fmim ui {folder}": "every trial in MLflow",
        f"fmim match {folder} QUERY --arm ARM --gallery TABLE": "who is on these images",
    }
    for command, what in steps.items():
        console.say(f"{what}: {command}")


def _row(arm: ArmSummary) -> tuple[str, ...]:
    validation = in_percent(arm.validation.stat.mean) if arm.validation.stat.n else NOTHING
    return (arm.label, configuration_text(arm.configuration), validation, _test(arm.test), str(arm.cost.n_s))


def _test(found: Estimate) -> str:
    """Write `81.30 ± 0.42`; of seeds that are missing it is said how many there are."""
    missing = "" if found.complete else f" ({found.n_text} seeds)"
    return (mean_se_text(found.stat) if found.stat.n else NOTHING) + missing
