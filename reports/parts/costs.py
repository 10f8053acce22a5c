"""Tables of what was paid: by arm and stage, by kind of work, and against the grid search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from reports.parts.overview import caption
from reports.reading.attempts import COST_PARTS
from reports.reading.cost import Cost, cost_of
from reports.reading.results import Results, Trial
from reports.stats import CostRatio, cost_ratio
from reports.writing.tables import Column, Table

GRID = "Grid search"
_PART_LABELS = {"startup_s": "Start-up", "data_s": "Data", "train_s": "Training", "eval_s": "Evaluation"}


def paid_table(results: Results) -> Table:
    """How much each arm and stage took, in every currency, with what failed and was repeated."""
    rows = [
        head
        | {name: getattr(cost, name) for name in ("trials", "stopped", "failed", "repeated")}
        | {"epochs": cost.epochs, "images": cost.images, "device_seconds": cost.device_seconds}
        | {"wasted": cost.wasted, "wall_s": cost.wall_s, "energy_kj": _kilo(cost.energy_j)}
        for head, cost in _by_stage(results)
    ]
    columns = [Column("arm", "Arm"), Column("stage", "Stage"), Column("n_s", "N_s", "count")]
    counts = {"trials": "All", "stopped": "Stopped", "failed": "Failed", "repeated": "Repeated"}
    columns += [Column(name, label, "count", "Trials") for name, label in counts.items()]
    columns += [Column("epochs", "Epochs", "count"), Column("images", "Images", "count")]
    columns += [
        Column("device_seconds", "All", "seconds", "Device s"),
        Column("wasted", "Failed", "seconds", "Device s"),
    ]
    columns += [Column("wall_s", "Wall s", "seconds")]
    told = any(row["energy_kj"] is not None for row in rows)
    columns += [Column("energy_kj", "kJ", "number")] if told else []
    text = (
        "All that was paid for. Repeated: attempts that failed and were run again; they are counted in epochs, images "
        "and device-seconds, and the latter once more by themselves, under Failed. Wall: while at least one trial of "
        "the row was running; arms run side by side, so theirs add up to more than that of all."
    )
    text += " Energy: the device's counter × the share of the device." if told else " No driver told the energy."
    resumed = cost_of(results.trials).resumed
    lost = "was interrupted and went on from a checkpoint: the seconds between the two are in no record"
    notes = [f"{resumed} times a trial {lost}."] if resumed else []
    return Table("cost_accounting", "What was paid", caption(results, text), columns, rows, notes)


def time_table(results: Results) -> Table:
    """Where the seconds of each arm and stage went."""
    rows = [
        head
        | dict(cost.parts)
        | {"outside": cost.outside, "device_seconds": cost.device_seconds, "peak_gb": cost.peak_memory / 1e9}
        for head, cost in _by_stage(results)
    ]
    columns = [
        Column("arm", "Arm"),
        Column("stage", "Stage"),
        *(Column(part, _PART_LABELS[part], "seconds", "Seconds") for part in COST_PARTS),
        Column("outside", "Other", "seconds", "Seconds"),
        Column("device_seconds", "Device s", "seconds"),
        Column("peak_gb", "Peak GB", "number"),
    ]
    text = (
        "Seconds of all trials by kind, failed and repeated ones included. Other: waiting for the runner between "
        "epochs, checkpoints, and what a worker that died was at; only the last is in the device-seconds."
    )
    return Table("where_time_went", "Where the time went", caption(results, text), columns, rows)


def _by_stage(results: Results) -> Iterator[tuple[dict[str, Any], Cost]]:
    """The first columns and the cost of each arm, stage after stage, each with its sum, and of everything."""
    for stage in results.stages:
        costs = [(arm["label"], cost_of(results.of(arm["name"], stage))) for arm in results.arms]
        for position, (label, cost) in enumerate(costs):
            yield {"arm": label, "stage": stage, "rule": position == 0, **_n_s(stage, cost.n_s)}, cost
        whole = cost_of(trial for trial in results.trials if trial.stage == stage)
        # Of each arm its own: two arms' configurations of the same name are not the same training.
        yield {"arm": "All arms", "stage": stage, "total": True, **_n_s(stage, sum(c.n_s for _, c in costs))}, whole
    if len(results.stages) > 1:
        yield {"arm": "All arms", "stage": "all", "total": True}, cost_of(results.trials)


def _n_s(stage: str, n_s: int) -> dict[str, int]:
    """Configurations are counted in the search alone; replicates train the one it selected."""
    return {"n_s": n_s} if stage == "search" else {}


def _kilo(value: float | None) -> float | None:
    return None if value is None else value / 1000


def ratios_table(results: Results) -> Table:
    """How many times as much the grid search cost as each other arm with the same loss."""
    rows, notes = [], []
    for arm, grid in against_grid(results):
        ours, theirs = (cost_of(results.of(one["name"], "search")) for one in (arm, grid))
        ratio = device_ratio(results, grid, arm)
        rows.append(
            {
                "arm": arm["label"],
                "n_s": _over(theirs.n_s, ours.n_s),
                "epochs": _over(theirs.epochs, ours.epochs),
                "ratio": ratio.ratio,
                "low": ratio.low,
                "high": ratio.high,
                "n": ratio.n,
            }
        )
        if ratio.note:
            notes.append(f"a = {grid['label']}, b = {arm['label']}: {ratio.note}.")
    group = "Device-seconds"
    columns = [
        Column("arm", "Arm"),
        Column("n_s", "N_s", "number", "Grid search ÷ arm"),
        Column("epochs", "Epochs", "number", "Grid search ÷ arm"),
        Column("ratio", "Ratio", "number", group),
        Column("low", "95 % CI, low", "number", group),
        Column("high", "high", "number", group),
        Column("n", "Folds", "count", group),
    ]
    text = (
        "How many times as much the grid search of the same loss cost in the search stage, failed, repeated and "
        "stopped trials included. Above 1 the grid was dearer. N_s and epochs are exact; device-seconds depend on what "
        "else the machine was doing, and their interval is Fieller's, paired by fold."
    )
    return Table("cost_ratios", "Search cost against the grid", caption(results, text), columns, rows, notes)


def against_grid(results: Results) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each arm that is not a grid search, with the grid search of its loss; arms without one are left out."""
    grids = {arm["loss"]: arm for arm in results.arms if arm["search"] == GRID}
    return [(arm, grids[arm["loss"]]) for arm in results.arms if arm["loss"] in grids and arm["search"] != GRID]


def device_ratio(results: Results, a: Mapping[str, Any], b: Mapping[str, Any]) -> CostRatio:
    """Search device-seconds of arm a over those of b, by fold; no interval where folds differ by design."""
    ours, theirs = ({fold: _seconds(results, arm, fold) for fold in _folds(results, arm)} for arm in (a, b))
    found = cost_ratio(ours, theirs)
    if not any(map(_screens, (a, b))):
        return found
    why = "the first fold of b screens its configurations, so folds differ by design: no interval"
    return CostRatio(found.ratio, found.n, None, None, found.level, found.missing, why)


def _screens(arm: Mapping[str, Any]) -> bool:
    return (arm.get("searcher") or {}).get("kind") == "asha"


def _folds(results: Results, arm: Mapping[str, Any]) -> list[int]:
    return sorted({trial.replicate for trial in _ran(results, arm)})


def _seconds(results: Results, arm: Mapping[str, Any], fold: int) -> float:
    return math.fsum(trial.device_seconds for trial in _ran(results, arm) if trial.replicate == fold)


def _ran(results: Results, arm: Mapping[str, Any]) -> list[Trial]:
    return [trial for trial in results.of(arm["name"], "search") if trial.record is not None]


def _over(a: float, b: float) -> float | None:
    return a / b if b else None
