"""Which numbers of a record MLflow is told, and by which names."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from datetime import datetime

from fmim_core.records import EpochRow, Record

EPOCH_METRICS = (
    "epsilon",
    "beta",
    "delta_mean",
    "phi_an_mean",
    "phi_ap_mean",
    "active_share",
    "empty_batches",
    "validation_mAP",
    "loss",  # the last: an epoch that has it was written whole
)
COST_METRICS = ("startup_s", "data_s", "train_s", "eval_s", "wall_s", "energy_j", "epochs", "images")

LoggedValue = tuple[str, float, int, int]  # name, value, time in ms, step


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Each name in the letters MLflow allows: `mAP@R` → `mAP_at_R`, anything else → `_`.

    Raises:
        ValueError: two names would become one.
    """
    safe: dict[str, str] = {}
    for name in dict.fromkeys(names):
        candidate = re.sub(r"[^\w\-. /:]", "_", name.replace("@", "_at_"))
        clash = [other for other, taken in safe.items() if taken == candidate]
        if clash:
            raise ValueError(f"metrics {clash[0]!r} and {name!r} are both {candidate!r} to MLflow: rename one")
        safe[name] = candidate
    return safe


def of_rows(rows: Iterable[EpochRow], after: int) -> list[LoggedValue]:
    """The metrics of the epochs after one, each with its epoch as the step; of a fold ensemble the first member's."""
    values: list[LoggedValue] = []
    at = int(time.time() * 1000)
    for row in rows:
        if row.epoch > after:  # the next member's epochs begin with 1 again
            after = row.epoch
            measured = row.model_dump(include=set(EPOCH_METRICS))
            values += [(name, measured[name], at, after) for name in EPOCH_METRICS if name in measured]
    return values


def of_the_end(record: Record) -> list[LoggedValue]:
    """The cost and the final metrics, those of each member of a fold ensemble too, and the triplet term's beginning.

    They are of the record's time, so that what is written again is the same to MLflow, and not kept twice.
    """
    cost = record.cost.model_dump(include=set(COST_METRICS))
    values = [(f"cost/{name}", value) for name, value in cost.items() if value is not None]
    for first in record.history[:1]:
        rows = [row for history in record.histories for row in history]
        empty, batches = (sum(getattr(row, name) for row in rows) for name in ("empty_batches", "batches"))
        values += [("initial_epsilon", first.epsilon), ("initial_beta", first.beta)]
        values += [("empty_batches_share", empty / max(1, batches))]
    values += _measured_by_us(record)
    measured = record.metrics.model_dump() | {f"fold{one.fold}/validation": one.validation for one in record.members}
    values += [(f"fold{one.fold}/kept_epoch", one.kept_epoch) for one in record.members]
    for part, metrics in measured.items():
        names = safe_names(metrics or {})
        values += [(f"{part}/{names[name]}", value) for name, value in (metrics or {}).items()]
    at, last = milliseconds(record.ended_at), len(record.history)
    return [(name, value, at, last) for name, value in values]


def _measured_by_us(record: Record) -> list[tuple[str, float]]:
    """What MLflow's page of system metrics shows of a trial: its own share of the machine, measured by its worker.

    MLflow's monitor would count the whole machine, on which other trials run at the same time.
    """
    values = [("system/device_seconds", record.device_seconds)]
    if record.peak_memory is not None:
        values.append(("system/peak_memory_megabytes", record.peak_memory / 1e6))
    if record.cost.train_s > 0:
        values.append(("system/training_images_per_second", record.cost.images / record.cost.train_s))
    return values


def milliseconds(moment: str) -> int:
    """A record's time as MLflow has it."""
    return int(datetime.fromisoformat(moment).timestamp() * 1000)
