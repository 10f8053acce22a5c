"""The cost of a search and of a study: trials, epochs, device-seconds, and how well the slots were used."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from fmim_core.records import Attempt, Execution, Record
from fmim_reports.reading.files import key_of
from fmim_reports.reading.results import PlannedTrial, Results, once

PARTS = ("startup_s", "data_s", "train_s", "eval_s")


@dataclass(frozen=True)
class TotalCost:
    """Sums over trials that have a record, whatever their status: a failed trial costs, too.

    They are what an undisturbed run costs. What attempts cost that failed and were run again is in `wasted` and
    `wall_s` alone: a machine that crashes says nothing about a method.

    Args:
        stopped, failed: of the trials (diverged ones have failed). repeated: attempts that failed and were run again.
        resumed: how often one continued from a checkpoint.
        parts: seconds of start-up, data, training and evaluation, by the names of records.
        wasted: device-seconds of failed attempts.
        outside: seconds in none of the parts. peak_memory: bytes, the highest.
        wall_s: seconds in which at least one of the trials or attempts ran.
        energy_j: None where it was not measured.
    """

    n_s: int
    trials: int
    stopped: int
    failed: int
    repeated: int
    resumed: int
    epochs: int
    images: int
    device_seconds: float
    wasted: float
    parts: Mapping[str, float]
    outside: float
    peak_memory: float
    wall_s: float
    energy_j: float | None


def cost_of(trials: Iterable[PlannedTrial]) -> TotalCost:
    """Return the cost of these trials."""
    records = [trial.record for trial in trials if trial.record is not None]
    attempts = [attempt for record in records for attempt in record.attempts]
    costs = [record.cost for record in records]
    energies = [cost.energy_j for cost in costs if cost.energy_j is not None]
    statuses = Counter(record.status for record in records)
    return TotalCost(
        n_s=len({key_of(record.configuration) for record in records}),
        trials=len(records),
        stopped=statuses["stopped"],
        failed=statuses["failed"] + statuses["diverged"],
        repeated=len(attempts),
        resumed=sum(cost.resumed for cost in costs),
        epochs=sum(cost.epochs for cost in costs),
        images=sum(cost.images for cost in costs),
        device_seconds=math.fsum(cost.device_seconds for cost in costs),
        wasted=math.fsum(record.wasted_s for record in records),
        parts={name: math.fsum(getattr(cost, name) for cost in costs) for name in PARTS},
        outside=math.fsum(cost.wall_s - cost.parts_s for cost in costs),
        peak_memory=max((float(record.peak_memory or 0) for record in records), default=math.nan),
        wall_s=covered([_span(one) for one in records] + [_span(one) for one in attempts]),
        energy_j=math.fsum(energies) if costs and len(energies) == len(costs) else None,
    )


def _span(ran: Record | Attempt) -> tuple[float, float]:
    """Return from when to when it ran, in seconds of the epoch: the wall seconds before its end, no interruptions."""
    end = datetime.fromisoformat(ran.ended_at).timestamp()
    return end - ran.cost.wall_s, end


def covered(found: Sequence[tuple[float, float]]) -> float:
    """Return the seconds in which at least one span was running."""
    total, reached = 0.0, -math.inf
    for begin, end in sorted(found):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


@once
def costs(results: Results) -> Mapping[tuple[str, str], TotalCost]:
    """Return the cost of each stage of each arm, by the arm's name and the stage."""
    return {(arm.name, stage): cost_of(results.of(arm.name, stage)) for arm in results.arms for stage in results.stages}


def search_cost(results: Results, arm: str) -> TotalCost:
    """Return the cost of the search stage of an arm; its `n_s` is the number of distinct configurations it trained."""
    return costs(results).get((arm, "search"), cost_of(()))


def compared_with(results: Results) -> dict[str, str]:
    """Return by arm the one beside whose search cost its own stands, if there is one.

    It is the one that an arm of its group is first compared with, else that of its own first comparison.
    """
    of_group: dict[str, str] = {}
    for a, b in results.comparisons:
        if results.arm(a).group == results.arm(b).group:
            of_group.setdefault(results.arm(b).group, b)
    within = {arm.name: of_group[arm.group] for arm in results.arms if arm.group in of_group}
    return {a: b for a, b in (dict(reversed(results.comparisons)) | within).items() if a != b}


def trained_here(trials: Iterable[PlannedTrial]) -> list[PlannedTrial]:
    """Return those that took no record of an equal one."""
    return [trial for trial in trials if not trial.reused_from]


def utilisation(executions: Iterable[Execution], trials: Iterable[PlannedTrial]) -> float:
    """Return seconds of data + train + evaluation / (slots × wall) of all executions that have ended.

    Not a number before one has. Trials that took the record of an equal one took none of these slots.
    """
    ended = [(execution.wall_s, execution.slots) for execution in executions if execution.wall_s is not None]
    records = [trial.record for trial in trained_here(trials) if trial.record]
    costs = [cost for one in records for cost in (one.cost, *(attempt.cost for attempt in one.attempts))]
    slot_seconds = math.fsum(wall_s * slots for wall_s, slots in ended)
    busy = math.fsum(part for cost in costs for part in (cost.data_s, cost.train_s, cost.eval_s))
    return busy / slot_seconds if slot_seconds > 0 else math.nan
