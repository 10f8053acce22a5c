"""`fmim plan`: what will run, what it can show, and with `--calibrate` what it would take here; text or JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from fmim.plan import Plan
from fmim.plan.workload import Workload
from fmim.printing import TextConsole, TextTable
from fmim.runner.backends.ray_cluster import cluster_for
from fmim.runner.forecast import predict
from fmim.runner.reuse.equal_trials import Reused, reused_before
from fmim.runner.run import CheckedPlan, check_plan
from fmim.runner.setup import Setup
from fmim.terminal.run_display import RunDisplay
from fmim_core.records import CalibrationFile, PlannedTrials, study_path
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.words import power_sentence
from fmim_reports.reading.results import read_results
from fmim_reports.stats import Variances, power_of
from fmim_reports.writing.formats import duration

NUMBERS = ("N_s", "trials", "epochs", "images")


def show_plan(checked: CheckedPlan, setup: Setup, console: TextConsole) -> None:
    """Print the arms with their spaces and trials, the folds, the totals, what is there, and what can be shown."""
    plan, work = checked.plan, Workload(checked.plan, checked.development)
    console.say(plan.study.title, style="bold")
    for line in _about(checked):
        console.say(line)
    parts = " on all splits + replicates + other splits' winners" if plan.search_splits > 1 else " + replicates"
    console.show(_arms(work))
    console.say(f"trials: search{parts}", style="dim")
    for fold in checked.folds:
        without = fold.validation_queries_without_match
        console.say(
            f"fold {fold.fold}: {fold.train_subjects} subjects ({fold.train_images} images) train, "
            f"{fold.validation_subjects} ({fold.validation_images}) validate with "
            f"{fold.validation_queries} queries{f' and {without} without a match' if without else ''}"
        )
    for warning in (*plan.warnings, *checked.warnings):
        console.warn(warning)
    for line in _trials(work):
        console.say(line)
    # An earlier run in the folder may have measured how differences vary.
    for line in (*_reused(checked, setup).sentences, *power_lines(plan, setup.folder)):
        console.say(line)


def plan_as_json(checked: CheckedPlan, setup: Setup) -> str:
    """Return it for programs; the guide says what the fields are."""
    plan, work = checked.plan, Workload(checked.plan, checked.development)
    reused, of_arms = _reused(checked, setup), {arm.name: work.of_arm(arm) for arm in plan.arms}
    fields = {
        "study": plan.study.name,
        "preset": plan.preset.name,
        "changed": dict(plan.preset.changed),
        "data": checked.source.description.name,
        "seed": plan.seed,
        "metric": plan.study.metric,
        **{name: getattr(plan, name) for name in ("exact", "trials", *PlannedTrials.model_fields)},
        "to_train": reused.to_train,
        "reused": {
            **{f"{stage}_trials": number for stage, number in reused.reused.items()},
            "by_folder": reused.by_folder,
            "others_known": reused.others_known,
        },
        "epochs": work.total.epochs,
        "images": work.total.images,
        "arms": [
            {"name": arm.name, "label": arm.label, "space": arm.space.values(), "searcher": str(arm.searcher)}
            | {"n_s": arm.budget, "search_trials": plan.search_trials_of(arm)}
            | {"variation_trials": plan.variation_trials_of(arm), "replicate_trials": plan.replicates_of(arm)}
            | {"epochs": of_arms[arm.name].epochs, "images": of_arms[arm.name].images}
            for arm in plan.arms
        ],
        "folds": [fold.model_dump(mode="json") for fold in checked.folds],
        "comparisons": plan.study.comparison_pairs,
        "looks": plan.looks.seeds if plan.looks else (),
        "warnings": plan.warnings,
    }
    return json.dumps(fields, indent=1, ensure_ascii=False)


def _about(checked: CheckedPlan) -> Iterator[str]:
    """Yield what is asked, and how it is tested, on which data."""
    plan, data = checked.plan, checked.source.description
    yield plan.study.question
    yield f"preset {plan.preset.name}: {plan.preset.about}"
    if plan.preset.changed:
        yield "changed from the preset: " + ", ".join(f"{path} = {value}" for path, value in plan.preset.changed)
    models, kept = plan.models_per_replicate, plan.train_configs()[0].keep.replace("_", " ")
    if models > 1:
        trains = f"{models} models, one without each fold, keeps the {kept} epoch's, and averages distances"
    else:
        trains = f"one model on all development subjects and keeps the {kept} epoch's"
    yield f"test: a seed trains {trains}"
    yield f"data {data.name}: {data.about}"


def _arms(work: Workload) -> TextTable:
    plan = work.plan
    rows, others = [], f" + ≤ {plan.search_splits - 1}" if plan.search_splits > 1 else ""
    for arm in plan.arms:
        stops = "≤ " if plan.rungs_of(arm) else ""
        most, both = "≤ " if stops or others else "", work.of_arm(arm)
        space = "; ".join(map(str, arm.space.parameters)) or "–"
        varied = f" + {plan.variation_trials_of(arm)}" if plan.variation_trials else ""
        trials = f"{stops}{plan.search_trials_of(arm)}{varied} + {plan.replicates_of(arm)}{others}"
        counts = (str(arm.budget), trials, f"{most}{both.epochs}", f"{most}{both.images}")
        rows.append((arm.label, space, str(arm.searcher), *counts))
    return TextTable(("arm", "space", "searcher", *NUMBERS), rows, frozenset(NUMBERS))


def _trials(work: Workload) -> Iterator[str]:
    """Yield where searches stop trials, what stands beside the arms, and how much that is in all."""
    plan = work.plan
    for arm in plan.arms:
        if (rule := arm.searcher.stopping_rule) and (rungs := plan.rungs_of(arm)):
            training = plan.training_of(arm)
            outlook = rule.outlook(training.validations, plan.preset.folds)
            after = f"after {' or '.join(map(str, rungs))} of {training.epochs} epochs"
            yield f"{arm.label}: trials of fold 0 may stop {after}{outlook and f'; {outlook}'}"
    for planned in plan.references:
        yield f"reference {planned.entry.label}: {planned.entry.about}"
    most = "" if plan.exact else "at most "
    varied = (
        f"{plan.variation_trials} of selected configurations with a setting changed, " if plan.variation_trials else ""
    )
    yield (
        f"{most}{plan.trials} trials: {most}{plan.search_trials} in the search, {varied}{plan.replicate_trials} "
        f"replicates and {plan.reference_trials} trials of {len(plan.references)} references, which train nothing; "
        f"{most}{work.total.epochs} epochs and {work.total.images} training images in all"
    )
    if plan.looks:
        yield (
            "compared arms get more seeds until every comparison is decided, with looks at "
            f"{', '.join(map(str, plan.looks.seeds))}; trials and epochs are those until the first look"
        )


def _reused(checked: CheckedPlan, setup: Setup) -> Reused:
    return reused_before(checked.plan, checked.source, setup.banks, setup.studies, setup.reuse)


ASSUMED = Variances(seed=0.0153**2, subject=200 * 0.00143**2, interaction=0.113**2, subjects=200)
"""How a difference is assumed to vary in the preset `quick` before a run has shown it.

Of others nothing is assumed: another network and other images vary otherwise.
"""
ASSUMED_SEEDS = 10  # that have shown it
MEASURED_ON = "AdaTriplet with AutoMargin without search against grid search on the quick phantom, mAP, ten seeds"


def power_lines(plan: Plan, out: Path) -> list[str]:
    """Say what the planned seeds can show, by the spread of an earlier run in `out`, else by the assumed one."""
    preset, seeds, margin = plan.preset, plan.compared_replicates, plan.equivalence_margin
    if not plan.study.comparison_pairs:
        return []
    if seeds < 2:
        return ["power: fewer than two seeds show nothing of others, so no comparison has an answer"]
    results, measured = read_results(out) if study_path(out).is_file() else None, []
    for one in comparisons(results) if results and results.study.preset == preset.name else ():
        if power := one.variances and power_of(one.variances, seeds, margin, one.paired.n):
            measured.append(f"power, measured in {out.name}, {one.heading}: {power_sentence(power, one.over)}")
    if measured:
        return measured
    if preset.changed or preset.name != "quick":
        which = f"a changed preset {preset.name}" if preset.changed else f"preset {preset.name}"
        return [
            f"power: nothing is assumed of how differences vary with {which}; once a run of it is in --out, the plan "
            "says what its seeds can show"
        ]
    power = power_of(ASSUMED, seeds, margin, ASSUMED_SEEDS)
    return [f"power, assumed from {MEASURED_ON}: {power_sentence(power, 'seeds and subjects')}"]


TIMED = ("start-up, s", "step, ms", "evaluation, ms an image", "memory, GB")


def predict_here(plan: Plan, setup: Setup, console: TextConsole) -> CalibrationFile:
    """Print the plan, run short trials, and print and return what the whole plan would take.

    Raises:
        ValueError: whatever would stop a trial; nothing has started.
    """
    begun = time.perf_counter()
    with cluster_for(setup.backend, setup.address) as cluster, RunDisplay(console) as display:
        setup.check_folders(plan.study.name)
        checked = check_plan(plan, setup)
        checking_s = time.perf_counter() - begun
        show_plan(checked, setup, console)
        prediction = predict(checked, setup, display, cluster, checking_s)
    found = prediction.forecast
    rows = [
        (key.partition(":")[0], f"{startup:.2f}", f"{1000 * step:.1f}", f"{1000 * image:.2f}", f"{peak / 1e9:.2f}")
        for key, timing in prediction.calibration["timings"].items()
        for startup, step, image, peak in [map(timing.get, ("startup", "step", "image", "peak_memory"))]
    ]
    console.show(TextTable(("training (loss, margins, model)", *TIMED), rows, frozenset(TIMED)))
    about = "" if checked.plan.exact and not found.reused else "about "
    besides = f" ({found.reused} more are reused)" if found.reused else ""
    console.say(
        f"predicted from {prediction.calibration['trials']} short trials: {duration(found.wall_s)} for "
        f"{about}{found.trials} trials{besides}, {prediction.slots} at once; {found.device_seconds / 3600:.3g} "
        f"device-hours; at most {found.peak_memory / 1e9:.2f} GB of memory a trial"
    )
    return prediction
