"""What `fmim plan` prints."""

from __future__ import annotations

import json

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from fmim.declare import Arm
from fmim.plan import Plan
from fmim.plan.data_warnings import data_warnings, fold_warnings
from fmim.plan.workload import Workload
from fmim.runner.checked import CheckedPlan
from fmim.runner.predict import Prediction
from fmim.runner.reuse.preview import Reused, reused_before
from fmim.runner.setup import Setup
from fmim.terminal.power import power_lines
from fmim.terminal.tables import Listing, show
from fmim_core.records import in_terminal
from fmim_reports.writing.formats import duration
from fmim_spaces.stopping import StoppingRule

NUMBERS = ("N_s", "trials", "epochs", "images")


def show_plan(checked: CheckedPlan, setup: Setup, console: Console) -> None:
    """The arms with their spaces and trials, the folds, the totals, what is there, and what comparisons can show."""
    plan, source = checked.plan, checked.source
    work = Workload(plan, checked.development)
    console.print(f"[bold]{in_terminal(plan.study.title)}[/]\n{in_terminal(plan.study.question)}", highlight=False)
    console.print(f"preset {plan.preset.name}: {in_terminal(plan.preset.about)}", highlight=False)
    if changed := plan.preset.changed:
        said = ", ".join(f"{path} = {value}" for path, value in changed)
        console.print(f"changed from the preset: {in_terminal(said)}", highlight=False)
    console.print(f"test: {_test(plan)}", highlight=False)
    about = in_terminal(source.description.about)
    console.print(f"data {in_terminal(source.description.name)}: {about}", highlight=False)
    for warning in data_warnings(source.description):
        console.print(f"[yellow]{in_terminal(warning)}[/]", highlight=False, soft_wrap=True)
    others = plan.search_splits - 1
    parts = "search, on all splits, + replicates + other splits' winners" if others else "search + replicates"
    rows = []
    for arm in plan.arms:
        stops = "≤ " if plan.rungs_of(arm) else ""
        most = stops or ("≤ " if others else "")
        both = work.search(arm) + work.replicates(arm)
        trials = f"{stops}{plan.search_trials_of(arm)} + {plan.replicates_of(arm)}{f' + ≤ {others}' if others else ''}"
        space = "; ".join(map(str, arm.space.parameters)) or "–"
        about_arm = (arm.label, space, str(arm.searcher), str(arm.budget), trials)
        rows.append((*about_arm, f"{most}{both.epochs}", f"{most}{both.images}"))
    listing = Listing(("arm", "space", "searcher", *NUMBERS), rows, frozenset(NUMBERS))
    show(console, listing.fitting(console), f"[dim]trials: {parts}[/]")
    for warning in plan.warnings:
        console.print(f"[yellow]{in_terminal(warning)}[/]", highlight=False)
    for fold in checked.folds:
        without = fold.validation_queries_without_match
        console.print(
            f"fold {fold.fold}: {fold.train_subjects} subjects ({fold.train_images} images) train, "
            f"{fold.validation_subjects} ({fold.validation_images}) validate with "
            f"{fold.validation_queries} queries{f' and {without} without a match' if without else ''}",
            highlight=False,
        )
    for warning in fold_warnings(checked.folds, checked.development.interval):
        console.print(f"[yellow]{in_terminal(warning)}[/]", highlight=False)
    for arm in plan.arms:
        if (rule := arm.searcher.stopping_rule) and plan.rungs_of(arm):
            console.print(_stops(plan, arm, rule), highlight=False)
    for planned in plan.references:
        console.print(f"reference {in_terminal(planned.label)}: {in_terminal(planned.entry().about)}", highlight=False)
    most, total = "" if plan.exact else "at most ", work.total
    console.print(
        f"{most}{plan.trials} trials: {most}{plan.search_trials} in the search, {plan.replicate_trials} replicates and "
        f"{plan.reference_trials} trials of {len(plan.references)} references, which train nothing; "
        f"{most}{total.epochs} epochs and {total.images} training images in all",
        highlight=False,
    )
    for sentence in reused_before(plan, source, setup.banks, setup.studies, setup.reuse).sentences:
        console.print(in_terminal(sentence), highlight=False)
    for line in power_lines(plan, setup.folder):  # an earlier run in it may have measured how differences vary
        console.print(in_terminal(line), highlight=False)


def plan_as_json(checked: CheckedPlan, setup: Setup) -> str:
    """For programs; the guide says what the fields are."""
    plan, work = checked.plan, Workload(checked.plan, checked.development)
    reused = reused_before(plan, checked.source, setup.banks, setup.studies, setup.reuse)
    fields = {
        "study": plan.study.name,
        "preset": plan.preset.name,
        "changed": dict(plan.preset.changed),
        "data": checked.source.description.name,
        "seed": plan.seed,
        "metric": plan.study.metric,
        "exact": plan.exact,
        "trials": plan.trials,
        "search_trials": plan.search_trials,
        "replicate_trials": plan.replicate_trials,
        "reference_trials": plan.reference_trials,
        "to_train": reused.to_train,
        "reused": _reused_fields(reused),
        "epochs": work.total.epochs,
        "images": work.total.images,
        "arms": [_arm_fields(plan, arm, work) for arm in plan.arms],
        "folds": [fold.model_dump(mode="json") for fold in checked.folds],
        "comparisons": plan.study.comparison_pairs,
        "warnings": plan.warnings,
    }
    return json.dumps(fields, indent=1, ensure_ascii=False)


def _reused_fields(reused: Reused) -> dict[str, object]:
    return {
        **{f"{stage}_trials": number for stage, number in reused.reused.items()},
        "by_folder": reused.by_folder,
        "others_known": reused.others_known,
    }


def _arm_fields(plan: Plan, arm: Arm, work: Workload) -> dict[str, object]:
    both = work.search(arm) + work.replicates(arm)
    return {
        "name": arm.name,
        "label": arm.label,
        "space": arm.space.values(),
        "searcher": str(arm.searcher),
        "n_s": arm.budget,
        "search_trials": plan.search_trials_of(arm),
        "replicate_trials": plan.replicates_of(arm),
        "epochs": both.epochs,
        "images": both.images,
    }


def show_forecast(plan: Plan, prediction: Prediction, console: Console) -> None:
    """Print what was timed, and what follows from it."""
    found, calibration, slots = prediction.forecast, prediction.calibration, prediction.slots
    numbers = (
        Column(name, justify="right") for name in ("start-up, s", "step, ms", "evaluation, ms an image", "memory, GB")
    )
    table = Table("training (loss, margins, model)", *numbers, box=SIMPLE_HEAD)
    for key, timing in calibration.timings.items():
        table.add_row(
            in_terminal(key.partition(":")[0]),
            f"{timing.startup:.2f}",
            f"{1000 * timing.step:.1f}",
            f"{1000 * timing.image:.2f}",
            f"{timing.peak_memory / 1e9:.2f}",
        )
    console.print(table)
    trials = f"{found.trials} trials" if plan.exact and not found.reused else f"about {found.trials} trials"
    besides = f" ({found.reused} more are reused)" if found.reused else ""
    console.print(
        f"predicted from {calibration.trials} short trials: {duration(found.wall_s)} for {trials}{besides}, "
        f"{slots} at once; {found.device_seconds / 3600:.3g} device-hours; at most {found.peak_memory / 1e9:.2f} GB "
        "of memory a trial",
        highlight=False,
    )


def _test(plan: Plan) -> str:
    """What a replicate trains and tests."""
    models, kept = plan.models_per_replicate, plan.train_configs()[0].keep
    if plan.preset.test_protocol == "fold_ensemble":
        return f"a seed trains {models} models, one without each fold, keeps the {kept} epoch's, and averages distances"
    return f"a seed trains one model on all development subjects and keeps the {kept} epoch's"


def _stops(plan: Plan, arm: Arm, rule: StoppingRule) -> str:
    """Where a search stops trials, and what its rule expects of that."""
    training, rungs = plan.training_of(arm), " or ".join(map(str, plan.rungs_of(arm)))
    outlook = rule.outlook(training.validations, plan.preset.folds)
    after = f"after {rungs} of {training.epochs} epochs"
    return f"{in_terminal(arm.label)}: trials of fold 0 may stop {after}{outlook and f'; {outlook}'}"
