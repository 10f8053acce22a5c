"""What `fmim status` prints: it reads JSON alone, and imports no torch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fmim_core.records import Record, SelectionFile, StudyFile, in_terminal, read_records, study_path


def show_status(out: Path, console: Console) -> None:
    """Trials by arm or reference and status, from the records."""
    study, records = StudyFile.read(study_path(out)), list(read_records(out))
    counts = Counter((record.arm, record.status) for record in records)
    statuses = sorted({status for _, status in counts})
    selected = out / "selection.json"
    selection = SelectionFile.read(selected) if selected.exists() else SelectionFile()
    table, planned = Table("arm or reference", *statuses, "planned"), 0
    for arm in study.arms:
        due = arm.n_s * len(study.folds) * study.search_splits + arm.replicates  # no folds where nothing is searched
        due += len(selection.other_winners(arm.name, study.search_splits))
        if arm.searcher_facts.screens:
            due -= (len(study.folds) - 1) * _screened_out(records, arm.name)
        planned += due
        table.add_row(in_terminal(arm.label), *(str(counts[arm.name, status]) for status in statuses), str(due))
    for reference in study.references:
        planned += reference.replicates
        row = (str(counts[reference.name, status]) for status in statuses)
        table.add_row(in_terminal(reference.label), *row, str(reference.replicates))
    console.print(table)
    console.print(f"{len(records)} of {planned} trials are over ({study.study}, {study.preset})")


def _screened_out(records: list[Record], arm: str) -> int:
    """Configurations that have not survived the first fold, so that the others are not due."""
    return sum(one.arm == arm and one.fold == 0 and one.status != "completed" for one in records)
