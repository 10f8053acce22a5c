"""An account of every trial: what was predicted, how many ended how, which do not count, and the executions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from fmim_core.records import CalibrationFile, Status, calibration_path
from fmim_reports.reading.cost import cost_of, trained_here, utilisation
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.captions import caption, reuse_sentence
from fmim_reports.writing.columns import ARM, configuration_column, reference_row, row_name, under
from fmim_reports.writing.formats import configuration_text, decimal, duration
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Table

STATUSES = (*get_args(Status), "missing")
OTHER_SPLITS = "other search splits"
_LABELS = {
    "wall_s": ("Wall time", "s"),
    "device_seconds": ("Device-seconds", "s"),
    "peak_memory": ("Peak memory of a trial", "MB"),
    "trials": ("Trials", "count"),
    "reused": ("Reused trials", "count"),
    "epochs": ("Epochs", "count"),
    "images": ("Training images", "count"),
}


@in_every_study(Section.COSTS)
def prediction_table(results: Results) -> Table:
    """Return predicted and measured wall time, device-seconds, memory, trials, epochs and images."""
    made, why = _calibration(results)
    rows, notes = [], []
    if made is not None:
        predicted: dict[str, float] = made.forecast.model_dump() | {"peak_memory": made.forecast.peak_memory / 1e6}
        measured = _measured(results)
        rows = [
            {"what": label, "unit": unit, "predicted": predicted[name], "measured": measured.get(name)}
            | {"error": 100 * (measured[name] / predicted[name] - 1) if measured and predicted[name] else None}
            for name, (label, unit) in _LABELS.items()
        ]
        notes = [_sentence(made, measured.get("wall_s"))]
        slots = {execution.slots for execution in results.study.executions} - {made.slots}
        notes += [f"The run had {' and '.join(map(str, sorted(slots)))} trials at once."] if slots else []
    columns = [
        *under("", "text", what="What", unit="Unit"),
        Column("predicted", "Predicted", "size", unit="that of the row"),
        Column("measured", "Measured", "size", unit="that of the row"),
        Column("error", "Error, %", "number", unit="percent"),
    ]
    text = (
        "Predicted from a few steps of each training, timed before the run; measured over all executions of this "
        "study. Error: measured over predicted, minus 1. Reused trials have the result of an equal one and count in "
        "no other row."
    )
    how = (
        "A prediction assumes that the machine is as busy as it was then. It can only guess how many trials a search "
        "stops and how many replicates are equal."
    )
    return Table("prediction", "Predicted and measured", caption(results, text), columns, rows, notes, why, how=how)


def _calibration(results: Results) -> tuple[CalibrationFile | None, str]:
    """Return calibration.json if it is of this plan; else None and why not."""
    path, study = calibration_path(results.out), results.study
    how = f"fmim plan {study.study} --calibrate, with the same settings and --out, makes one"
    if not path.is_file():
        return None, f"No prediction: {how}."
    try:
        made = CalibrationFile.read(path, path.name)
    except ValueError as error:
        return None, f"{error}; {how}."
    settings = {
        "preset": (made.preset, study.preset),
        "seed": (made.seed, study.seed),
        "replicates": (made.replicates, study.plan.replicate_trials),
        "search splits": (made.search_splits, study.search_splits),
        "epochs": (made.epochs, study.train["epochs"]),
    }
    other = [f"{name} {of}, not {here}" for name, (of, here) in settings.items() if of != here]
    other += ["other data"] if made.data_fingerprint != study.data.fingerprint else []
    if other:
        return None, f"calibration.json is of another plan ({'; '.join(other)}): {how}."
    return made, ""


def _measured(results: Results) -> dict[str, float]:
    """Return what all trials cost; nothing before every trial has run and every execution said how long it took."""
    walls = [execution.wall_s for execution in results.study.executions]
    ended = [wall_s for wall_s in walls if wall_s is not None]
    whole = bool(walls) and all(trial.record is not None for trial in results.every_trial)
    if not whole or len(ended) < len(walls):
        return {}
    every = [*results.every_trial, *results.superseded]
    trained = trained_here(every)
    cost = cost_of(trained)
    own = {"wall_s": math.fsum(ended), "peak_memory": cost.peak_memory / 1e6, "reused": len(every) - len(trained)}
    return {**vars(cost), **own}


def _sentence(made: CalibrationFile, measured: float | None) -> str:
    predicted = made.forecast.wall_s
    text = f"Predicted {duration(predicted)} for {made.slots} trials at once on {made.device}"
    if measured is None:
        return f"{text}; not all of it has run yet, or an execution was killed before it could say how long it took."
    error = decimal(100 * (measured / predicted - 1), 0)
    return f"{text}, measured {duration(measured)} ({error if error.startswith('−') else f'+{error}'} %)."


@in_every_study(Section.COSTS)
def status_table(results: Results) -> Table:
    """Return how many trials of each arm and stage, and of each reference, ended how."""
    columns = [
        ARM,
        *under("", "text", stage="Stage", replicates="Replicates are"),
        *under("", "count", planned="Planned", **{name: name.capitalize() for name in STATUSES}),
    ]
    text = (
        "Planned trials by their status. Only completed trials enter a mean; n counts them. Stopped: ended early by "
        "the arm's search, which then did not train that configuration on the other folds."
    )
    return Table("trial_status", "Trials by status", caption(results, text), columns, list(_by_status(results)))


def _by_status(results: Results) -> Iterator[dict[str, Any]]:
    for arm in results.arms:
        for stage, most in results.planned(arm).items():
            trials = results.of(arm.name, stage)
            unknown = results.unproposed(arm) if stage == "search" else 0
            head = {"arm": arm, "stage": stage, "replicates": f"{results.stages[stage]}s"}
            yield head | _counted(trials, len(trials) + unknown or most)
        others = [trial for trial in results.other_splits if trial.arm == arm.name]
        if others:
            yield {"arm": arm, "stage": OTHER_SPLITS, "replicates": "folds and seeds"} | _counted(others, len(others))
    for reference in results.references:
        trials = results.of(reference.name, "reference")
        head = {"arm": reference_row(reference), "stage": "reference", "replicates": "seeds"}
        yield head | _counted(trials, reference.replicates)


def _counted(trials: Iterable[PlannedTrial], planned: int) -> dict[str, int]:
    """Return how many are planned and ended how; those that are not even known yet are missing."""
    counts = Counter(trial.status for trial in trials)
    counts["missing"] += planned - counts.total()
    return {"planned": planned} | {status: counts[status] for status in STATUSES}


@in_every_study(Section.COSTS)
def failures_table(results: Results) -> Table:
    """Return every failed, diverged, missing and superseded trial, and every file that does not count, with its reason.

    A stopped trial is none of these: it ended as its search meant it to.
    """
    rows: list[dict[str, Any]] = [
        {"arm": row_name(results, trial.arm), "what": trial.status, "reason": trial.reason, "file": trial.file or ""}
        | {"where": f"{trial.arm}, {configuration_text(trial.configuration)}, {trial.unit}"}
        for trial in results.every_trial
        if trial.status not in ("completed", "stopped")
    ]
    rows += [{"what": "not counted", "where": problem.where, "reason": problem.why} for problem in results.problems]
    columns = under("", "text", what="Status", where="Trial or file", reason="Reason", file="Record")
    text = "Trials and files that no number in this report uses."
    none = "None: every trial counts."
    return Table("not_counted", "Not counted", caption(results, text), columns, rows, empty=none, also=[ARM])


@in_every_study(Section.COSTS)
def executions_table(results: Results) -> Table:
    """Return each start of the study, and how well its slots were used in all."""
    executions = results.study.executions
    used = utilisation(executions, [*results.every_trial, *results.superseded])
    share = "not known yet" if math.isnan(used) else f"{100 * used:.1f} %"
    columns = [
        *under("", "text", started_at="Started", ended_at="Ended"),
        Column("wall_s", "Wall s", "seconds"),
        Column("slots", "Slots", "count"),
        *under("", "text", backend="Backend", device="Device"),
        *under("", "count", trials="Trials", exit_code="Exit"),
    ]
    text = f"Executions of this study. Utilisation, trials' data + training + evaluation / (slots × wall): {share}."
    rows, notes = [execution.model_dump() for execution in executions], [reuse_sentence(results.every_trial)]
    return Table("executions", "Executions", caption(results, text), columns, rows, notes)


@in_every_study(Section.FILES)
def all_trials_table(results: Results) -> Table:
    """Return one row per planned trial with its record's file name, so that every mean can be traced."""
    metric = results.metric
    rows = [
        vars(trial)
        | {"arm": row_name(results, trial.arm), metric.name: trial.metric(metric.name), "record": trial.file or ""}
        | {"status": trial.status, "device_seconds": trial.device_seconds, "reused_from": trial.reused_from}
        | {"reused_trial": trial.record.reused_from.trial if trial.record and trial.record.reused_from else ""}
        for trial in results.every_trial
    ]
    columns = [
        ARM,
        configuration_column(results),
        Column("stage", "Stage"),
        Column("variation", "Variation"),
        *under("", "count", replicate="Fold or seed", search_split="Search split"),
        Column("status", "Status"),
        Column(metric.name, f"{metric.label}, %", "percent"),
        Column("device_seconds", "Device s", "seconds"),
        *under("", "text", record="Record", reused_from="Reused from", reused_trial="Trial there"),
    ]
    where = "on validation for search and variation, on the test set for the others"
    text = f"Every planned trial; {metric.label} is {where}. Reused: it has the result of that equal trial."
    return Table("trials", "Every trial", caption(results, text), columns, rows)
