"""What a search and a study cost: trials, epochs, device-seconds, and how well the slots were used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.frame import COST_PARTS, Results, Trial, key_of


@dataclass(frozen=True)
class Cost:
    """Sums over trials that have a record, whatever their status: a failed trial was paid for too."""

    n_s: int
    trials: int
    epochs: float
    device_seconds: float
    parts: Mapping[str, float]
    peak_memory: float


@dataclass(frozen=True)
class Use:
    """Work done by all executions against slots × wall time."""

    wall_s: float
    slot_seconds: float
    busy_s: float

    @property
    def utilisation(self) -> float:
        """busy / (slots × wall); not-a-number before an execution has ended."""
        return self.busy_s / self.slot_seconds if self.slot_seconds > 0 else math.nan


def cost_of(trials: Iterable[Trial]) -> Cost:
    """The cost of these trials; a record without a cost makes the sums not-a-number rather than too small."""
    ran = [trial for trial in trials if trial.record is not None]
    parts = {part: math.fsum(t.cost(part) for t in ran) for part in COST_PARTS}
    return Cost(
        n_s=len({key_of(t.configuration) for t in ran}),
        trials=len(ran),
        epochs=_sum(t.cost("epochs") for t in ran),
        device_seconds=_sum(t.device_seconds for t in ran),
        parts=parts,
        peak_memory=max((float(t.record.get("peak_memory") or 0) for t in ran if t.record), default=math.nan),
    )


def search_cost(results: Results, arm: str) -> Cost:
    """What the search stage of an arm cost; its `n_s` is the number of distinct configurations it trained."""
    return cost_of(results.of(arm, "search"))


def use_of(executions: Sequence[Mapping[str, Any]], trials: Iterable[Trial]) -> Use:
    """Utilisation over all executions that have ended: seconds of data + train + evaluation / (slots × wall)."""
    ended = [e for e in executions if e.get("wall_s") is not None]
    busy = math.fsum(t.cost(part) for t in trials if t.record for part in ("data_s", "train_s", "eval_s"))
    return Use(
        wall_s=math.fsum(e["wall_s"] for e in ended),
        slot_seconds=math.fsum(e["wall_s"] * e["slots"] for e in ended),
        busy_s=busy,
    )


def _sum(values: Iterable[float]) -> float:
    """A sum that stays a whole number when it is one."""
    total = math.fsum(values)
    return int(total) if total == total and total.is_integer() else total
