"""The cost that `fmim plan --calibrate` predicted, beside what was measured."""

from __future__ import annotations

import math

from fmim_core.records import CalibrationFile, calibration_path
from fmim_reports.reading.cost import cost_of, trained_here
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import under
from fmim_reports.writing.formats import decimal, duration
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Table

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
        "study. Error: measured over predicted, minus 1. A prediction is of a machine as busy as it was then; how many "
        "trials a search stops, and how many replicates are equal, is a guess. Reused trials took the record of an "
        "equal one, and count in no other row."
    )
    return Table("prediction", "Predicted and measured", caption(results, text), columns, rows, notes, empty=why)


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
