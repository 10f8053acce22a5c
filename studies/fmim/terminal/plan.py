"""`fmim plan`: what will run, what it can show, and with `--calibrate` what it would take here; text or JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
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
from fmim_core.records import CalibrationFile, Damaged, FoldEntry, PlannedTrials, calibration_path, study_path
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.words import power_sentence
from fmim_reports.reading.results import read_results
from fmim_reports.stats import Power, Variances, power_of
from fmim_reports.writing.formats import duration

NUMBERS = ("N_s", "trials", "epochs", "images")


def show_plan(checked: CheckedPlan, setup: Setup, console: TextConsole) -> None:
    """Print how many trials there are, how long they take and what they can show; then what the plan is made of."""
    plan, work = checked.plan, Workload(checked.plan, checked.development)
    console.say(plan.study.title, style="bold")
    reused, power = _reused(checked, setup), power_line(plan, setup.folder)
    over = (
        [f"{plan.trials - reused.left} of them are over; {reused.left} are left."] if reused.left < plan.trials else []
    )
    for line in filter(None, (_trials(checked), *over, *reused.sentences, _time(checked, setup.folder), power)):
        console.say(line)
    for warning in (*plan.warnings, *checked.warnings):
        console.warn(warning)
    console.show("", _arms(work))
    seen = (
        f"In all: {_most(plan)}{work.total.epochs:,} epochs and {work.total.images:,} training images, repeats counted."
    )
    for line in (*_details(checked), *_rules(checked), seen):
        console.say(line, style="dim")


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


def _trials(checked: CheckedPlan) -> str:
    plan = checked.plan
    parts = {
        "search": plan.search_trials,
        "change a setting of a selected configuration": plan.variation_trials,
        "train selected configurations with fresh seeds": plan.replicate_trials,
        "are references, which train nothing": plan.reference_trials,
    }
    said = ", ".join(f"{number} {what}" for what, number in parts.items() if number)
    return f"{_most(plan).capitalize()}{plan.trials} trials: {said}."


def _most(plan: Plan) -> str:
    return "" if plan.exact else "at most "


def _time(checked: CheckedPlan, out: Path) -> str:
    """Say how long it takes: as predicted here, else for what the preset is made."""
    plan = checked.plan
    with suppress(Damaged, FileNotFoundError):
        made = CalibrationFile.read(calibration_path(out))
        same = (plan.preset.name, plan.seed, plan.replicate_trials, plan.search_splits, plan.train_configs()[0].epochs)
        if same == (made.preset, made.seed, made.replicates, made.search_splits, made.epochs):
            at_once = f"with {made.slots} trials at once on {made.device}"
            return f"All trials take about {duration(made.forecast.wall_s)} {at_once}, as --calibrate predicted."
    return f"The time is not predicted yet (add --calibrate); preset {plan.preset.name}: {plan.preset.about}."


def _details(checked: CheckedPlan) -> Iterator[str]:
    """Yield the question, the data, the folds, the test and the references, a line each."""
    plan, data = checked.plan, checked.source.description
    parts = ["search", "changed settings" if plan.variation_trials else "", "fresh seeds"]
    parts += ["winners of other splits"] if plan.search_splits > 1 else []
    yield f"The column “trials” counts {' + '.join(filter(None, parts))}."
    yield f"Question: {plan.study.question}"
    if plan.preset.changed:
        yield "Changed from the preset: " + ", ".join(f"{path} = {value}" for path, value in plan.preset.changed)
    yield f"Data: {data.name}. {data.about}"
    if checked.folds:
        yield _folds(checked.folds)
    models, kept = plan.models_per_replicate, plan.train_configs()[0].keep.replace("_", " ")
    if models > 1:
        trains = f"{models} models, each without one fold, keeps the {kept} epoch's, and averages distances"
    else:
        trains = f"one model on all development subjects and keeps the {kept} epoch's"
    yield f"Test: each seed trains {trains}."
    yield f"References: {', '.join(planned.entry.label for planned in plan.references)}."


def _folds(folds: Sequence[FoldEntry]) -> str:
    def span(name: str) -> str:
        values = [getattr(fold, name) for fold in folds]
        return f"{min(values):,}" if min(values) == max(values) else f"{min(values):,} to {max(values):,}"

    without = sum(fold.validation_queries_without_match for fold in folds)
    return (
        f"{len(folds)} folds: {span('train_subjects')} subjects ({span('train_images')} images) train, "
        f"{span('validation_subjects')} ({span('validation_images')}) validate with {span('validation_queries')} "
        f"queries{f', and {without} have no match' if without else ''}."
    )


def _arms(work: Workload) -> TextTable:
    plan = work.plan
    rows, others = [], f" + ≤ {plan.search_splits - 1}" if plan.search_splits > 1 else ""
    for arm in plan.arms:
        stops = "≤ " if plan.rungs_of(arm) else ""
        most, both = "≤ " if stops or others else "", work.of_arm(arm)
        space = "; ".join(map(str, arm.space.parameters)) or "–"
        varied = f" + {plan.variation_trials_of(arm)}" if plan.variation_trials else ""
        trials = f"{stops}{plan.search_trials_of(arm)}{varied} + {plan.replicates_of(arm)}{others}"
        counts = (str(arm.budget) if plan.study.search else "–", trials, f"{most}{both.epochs}", f"{most}{both.images}")
        rows.append((arm.label, space, str(arm.searcher), *counts))
    return TextTable(("arm", "space", "searcher", *NUMBERS), rows, frozenset(NUMBERS))


def _rules(checked: CheckedPlan) -> Iterator[str]:
    """Yield where searches stop trials, and when more seeds follow."""
    plan = checked.plan
    for arm in plan.arms:
        if (rule := arm.searcher.stopping_rule) and (rungs := plan.rungs_of(arm)):
            training = plan.training_of(arm)
            outlook = rule.outlook(training.validations, plan.preset.folds)
            after = f"after {' or '.join(map(str, rungs))} of {training.epochs} epochs"
            yield f"{arm.label}: trials of fold 0 may stop {after}{outlook and f'; {outlook}'}."
    if plan.looks:
        yield (
            "Compared arms get more seeds until every comparison is decided, with looks at "
            f"{', '.join(map(str, plan.looks.seeds))} seeds; these numbers are those until the first look."
        )


def _reused(checked: CheckedPlan, setup: Setup) -> Reused:
    return reused_before(checked.plan, checked.source, setup.banks, setup.studies, setup.folder, setup.reuse)


ASSUMED = Variances(seed=0.0153**2, subject=200 * 0.00143**2, interaction=0.113**2, subjects=200)
"""How a difference is assumed to vary in the preset `quick` before a run has shown it.

Of others nothing is assumed: another network and other images vary otherwise.
"""
ASSUMED_SEEDS = 10  # that have shown it
ASSUMED_FROM = "assumed from earlier runs of AdaTriplet with AutoMargin and with grid search"


def power_line(plan: Plan, out: Path) -> str:
    """Say what the planned seeds can show, by the spread of an earlier run in `out`, else by the assumed one.

    Of several comparisons, it is said of the one that can show least; nothing where there is none.
    """
    preset, seeds, margin = plan.preset, plan.compared_replicates, plan.equivalence_margin
    if not plan.study.comparison_pairs:
        return ""
    if seeds < 2:
        return "Fewer than two seeds cannot answer a comparison: give --replicates 2 or more."
    results, measured = read_results(out) if study_path(out).is_file() else None, dict[str, Power]()
    for one in comparisons(results) if results and results.study.preset == preset.name else ():
        if power := one.variances and power_of(one.variances, seeds, margin, one.paired.n):
            measured[one.heading] = power
    if measured:
        weakest = max(measured, key=lambda heading: measured[heading].smallest_difference)
        which = f"the weakest of {len(measured)} comparisons, " if len(measured) > 1 else ""
        return power_sentence(measured[weakest], f"{which}{weakest}; measured in {out.name}")
    if preset.changed or preset.name != "quick":
        which = f"the changed preset {preset.name}" if preset.changed else f"preset {preset.name}"
        return f"The power of {seeds} seeds is not known for {which} before a run of it is in --out."
    assumed = power_of(ASSUMED, seeds, margin, ASSUMED_SEEDS)
    return power_sentence(assumed, ASSUMED_FROM) if assumed else ""


TIMED = ("start-up, s", "step, ms", "evaluation, ms per image", "memory, GB")


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
        f"device-hours; at most {found.peak_memory / 1e9:.2f} GB of memory per trial"
    )
    return prediction
