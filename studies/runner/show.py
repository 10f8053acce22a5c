"""What `fmim plan` and `fmim status` print."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fmim_core.data.source import Source, SourceDescription
from fmim_core.records import read_json, read_records
from studies.plan import Plan


def show_plan(plan: Plan, source: Source, folds: list[dict[str, Any]], console: Console) -> None:
    """The arms with their spaces and trials, the folds, and the totals."""
    console.print(f"[bold]{plan.study.title}[/]\n{plan.study.question}", highlight=False)
    console.print(f"preset {plan.preset.name}: {plan.preset.about}", highlight=False)
    console.print(f"data {source.description.name}: {source.description.about}", highlight=False)
    warn_of_data(source.description, console)
    table = Table("arm", "space", "N_s", "search trials", "replicates")
    for arm in plan.arms:
        space = "; ".join(f"{name} ∈ {{{', '.join(map(str, values))}}}" for name, values in arm.space.values().items())
        trials = plan.search_trials_of(arm)
        table.add_row(arm.label, space or "–", str(arm.space.size), str(trials), str(plan.replicates))
    console.print(table)
    for fold in folds:
        without = fold["validation_queries_without_match"]
        console.print(
            f"fold {fold['fold']}: {fold['train_subjects']} subjects ({fold['train_images']} images) train, "
            f"{fold['validation_subjects']} ({fold['validation_images']}) validate with "
            f"{fold['validation_queries']} queries{f' and {without} without a match' if without else ''}",
            highlight=False,
        )
    warn_of_folds(folds, console)
    epochs = plan.trials * plan.train_configs()[0].epochs
    console.print(
        f"{plan.trials} trials: {plan.search_trials} in the search and {plan.replicate_trials} replicates; "
        f"{epochs} epochs in all",
        highlight=False,
    )


def warn_of_folds(folds: list[dict[str, Any]], console: Console) -> None:
    """Name the years after baseline that a fold cannot score, though other folds can."""
    for fold in folds:
        if missing := fold["validation_years_missing"]:
            years = f"year{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"
            console.print(f"[yellow]fold {fold['fold']} has no validation query of {years}[/]", highlight=False)


def warn_of_data(description: SourceDescription, console: Console) -> None:
    """Print what the data set's tables were warned of."""
    for finding in description.details.get("findings", ()):
        if finding["severity"] == "warning":
            text = f"{finding['what']} ({finding['count']}; fmim data check names them)"
            console.print(f"[yellow]{escape(text)}[/]", highlight=False, soft_wrap=True)


def show_status(out: Path, console: Console) -> None:
    """Trials by arm and status, from the records."""
    study = read_json(out / "study.json")
    counts = Counter((record["arm"], record["status"]) for record in read_records(out))
    statuses = sorted({status for _, status in counts})
    folds = len(study["folds"])
    table = Table("arm", *statuses, "planned")
    for arm in study["arms"]:
        planned = arm["n_s"] * folds + study["replicates"]  # no folds where nothing is searched
        table.add_row(arm["label"], *(str(counts[arm["name"], status]) for status in statuses), str(planned))
    console.print(table)
    total = study["plan"]["search_trials"] + study["plan"]["replicate_trials"]
    console.print(f"{sum(counts.values())} of {total} trials are over ({study['study']}, {study['preset']})")
