"""What `fmim plan --calibrate` predicted, beside what was measured."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from reports.reading.cost import cost_of
from reports.reading.results import Results
from reports.sections import Section, in_every_study
from reports.writing.captions import caption
from reports.writing.formats import decimal, duration
from reports.writing.tables import Column, Table

_LABELS = {
    "wall_s": "Wall time, s",
    "device_seconds": "Device-seconds",
    "peak_memory_mb": "Peak memory of a trial, MB",
    "trials": "Trials",
    "epochs": "Epochs",
    "images": "Training images",
}


@in_every_study(Section.COSTS)
def prediction_table(results: Results) -> Table:
    """Predicted and measured: wall time, device-seconds, memory, trials, epochs and images."""
    made, why = _calibration(results)
    rows, notes = [], []
    if made is not None:
        predicted, measured = _predicted(made["forecast"]), _measured(results)
        rows = [
            {"what": label, "predicted": predicted[name], "measured": measured[name]}
            | {"error": _error_percent(predicted[name], measured[name])}
            for name, label in _LABELS.items()
        ]
        notes = [_sentence(made, predicted["wall_s"], measured["wall_s"]), *_other_slots(results, made)]
    columns = [
        Column("what", "What"),
        Column("predicted", "Predicted", "count"),
        Column("measured", "Measured", "count"),
        Column("error", "Error, %", "number"),
    ]
    text = (
        "Predicted from a few steps of each training, timed before the run; measured over all executions of this "
        "study. Error: measured over predicted, minus 1. A prediction is of a machine as busy as it was then; how many "
        "trials a search stops is a guess."
    )
    return Table("prediction", "Predicted and measured", caption(results, text), columns, rows, notes, empty=why)


def _calibration(results: Results) -> tuple[Mapping[str, Any] | None, str]:
    """calibration.json if it is of this plan; else None and why not."""
    path = results.out / "calibration.json"
    how = f"fmim plan {results.study['study']} --calibrate, with the same settings and --out, makes one"
    if not path.is_file():
        return None, f"No prediction: {how}."
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
        study, of = results.study, {name: made[name] for name in ("preset", "seed", "replicates", "epochs")}
        data = made["data_fingerprint"]
    except (ValueError, KeyError, TypeError) as error:
        return None, f"calibration.json cannot be read ({error}): {how}."
    here = {name: study.get(name) for name in ("preset", "seed", "replicates")}
    here |= {"epochs": (study.get("train") or {}).get("epochs")}
    other = [f"{name} {of[name]}, not {here[name]}" for name in here if of[name] != here[name]]
    other += ["other data"] if data != study["data"].get("fingerprint") else []
    if other:
        return None, f"calibration.json is of another plan ({'; '.join(other)}): {how}."
    return made, ""


def _predicted(forecast: Mapping[str, Any]) -> dict[str, float]:
    return {name: forecast[name] for name in _LABELS if name in forecast} | {
        "peak_memory_mb": forecast["peak_memory"] / 1e6
    }


def _measured(results: Results) -> dict[str, float | None]:
    """None for what is not known before every trial has run."""
    executions = results.study.get("executions", [])
    whole = bool(executions) and all(trial.record is not None for trial in results.trials)
    if not whole or any(execution.get("wall_s") is None for execution in executions):
        return dict.fromkeys(_LABELS)
    cost = cost_of([*results.trials, *results.superseded])
    return {
        "wall_s": math.fsum(execution["wall_s"] for execution in executions),
        "device_seconds": cost.device_seconds,
        "peak_memory_mb": cost.peak_memory / 1e6,
        "trials": cost.trials,
        "epochs": cost.epochs,
        "images": cost.images,
    }


def _error_percent(predicted: float, measured: float | None) -> float | None:
    return None if measured is None or not predicted else 100 * (measured / predicted - 1)


def _sentence(made: Mapping[str, Any], predicted: float, measured: float | None) -> str:
    text = f"Predicted {duration(predicted)} for {made['slots']} trials at once on {made['device']}"
    if measured is None:
        return f"{text}; not all of it has run yet, or an execution was killed before it could say how long it took."
    error = decimal(100 * (measured / predicted - 1), 0)
    return f"{text}, measured {duration(measured)} ({error if error.startswith('−') else f'+{error}'} %)."


def _other_slots(results: Results, made: Mapping[str, Any]) -> list[str]:
    slots = {execution["slots"] for execution in results.study.get("executions", [])} - {made["slots"]}
    return [f"The run had {' and '.join(map(str, sorted(slots)))} trials at once."] if slots else []
