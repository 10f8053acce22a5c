"""What `fmim plan` and `fmim status` print."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fmim_core.data.source import Source
from fmim_core.records import Record, read_json, read_records
from search_spaces.searchers import ASHA
from studies.declare import Arm
from studies.plan import Plan


def show_plan(plan: Plan, source: Source, folds: list[dict[str, Any]], console: Console) -> None:
    """The arms with their spaces and trials, the folds, and the totals."""
    console.print(f"[bold]{plan.study.title}[/]\n{plan.study.question}", highlight=False)
    console.print(f"preset {plan.preset.name}: {plan.preset.about}", highlight=False)
    console.print(f"data {source.description.name}: {source.description.about}", highlight=False)
    table = Table("arm", "space", "searcher", "N_s", "search trials", "replicates")
    for arm in plan.arms:
        trials = f"{'≤ ' if plan.rungs_of(arm) else ''}{plan.search_trials_of(arm)}"
        space = "; ".join(map(str, arm.space.parameters)) or "–"
        table.add_row(arm.label, space, str(arm.searcher), str(arm.budget), trials, str(plan.replicates))
    console.print(table)
    for warning in plan.warnings:
        console.print(f"[yellow]{escape(warning)}[/]", highlight=False)
    for fold in folds:
        console.print(
            f"fold {fold['fold']}: {fold['train_subjects']} subjects ({fold['train_images']} images) train, "
            f"{fold['validation_subjects']} ({fold['validation_images']}) validate with "
            f"{fold['validation_queries']} queries",
            highlight=False,
        )
    for arm in plan.arms:
        if isinstance(arm.searcher, ASHA) and plan.rungs_of(arm):
            console.print(_stops(plan, arm, arm.searcher), highlight=False)
    most = "" if plan.exact else "at most "
    console.print(
        f"{most}{plan.trials} trials: {most}{plan.search_trials} in the search and {plan.replicate_trials} replicates; "
        f"{most}{plan.trials * plan.train_configs()[0].epochs} epochs in all",
        highlight=False,
    )


def _stops(plan: Plan, arm: Arm, searcher: ASHA) -> str:
    """Where a search stops trials, and what it would cost if exactly its share went on."""
    rungs, epochs = " or ".join(map(str, plan.rungs_of(arm))), plan.epochs_of(arm)
    expected = searcher.expected_epochs(epochs, plan.preset.folds)
    return (
        f"{arm.label}: trials of fold 0 may stop after {rungs} of {epochs} epochs; if 1 in {searcher.reduction} "
        f"goes on each time, its search takes {expected:.0f} of at most {plan.search_trials_of(arm) * epochs} epochs"
    )


def show_status(out: Path, console: Console) -> None:
    """Trials by arm and status, from the records."""
    study = read_json(out / "study.json")
    records = list(read_records(out))
    counts = Counter((record["arm"], record["status"]) for record in records)
    statuses = sorted({status for _, status in counts})
    table, planned = Table("arm", *statuses, "planned"), 0
    for arm in study["arms"]:
        due = arm["n_s"] * len(study["folds"]) + study["replicates"]  # no folds where nothing is searched
        if arm.get("searcher", {}).get("kind") == "asha":
            due -= (len(study["folds"]) - 1) * _screened_out(records, arm["name"])
        planned += due
        table.add_row(arm["label"], *(str(counts[arm["name"], status]) for status in statuses), str(due))
    console.print(table)
    console.print(f"{len(records)} of {planned} trials are over ({study['study']}, {study['preset']})")


def _screened_out(records: list[Record], arm: str) -> int:
    """Configurations that have not survived the first fold, so that the others are not due."""
    return sum(r["arm"] == arm and r["fold"] == 0 and r["status"] != "completed" for r in records)
