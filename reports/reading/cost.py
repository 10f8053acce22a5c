"""What a search and a study cost: trials, epochs, device-seconds, and how well the slots were used."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.reading import attempts
from reports.reading.attempts import COST_PARTS
from reports.reading.results import Results, Trial, key_of


@dataclass(frozen=True)
class Cost:
    """Sums over trials that have a record, whatever their status: a failed trial costs, too.

    Args:
        stopped, failed: of the trials (diverged ones have failed). repeated: attempts that failed and were run again.
        resumed: how often one continued from a checkpoint.
        epochs, images, device_seconds, parts: those of earlier attempts with them; `wasted` are the latter's
            device-seconds. outside: seconds in none of the parts. peak_memory: bytes, the highest.
        wall_s: seconds in which at least one of the trials ran.
        energy_j: None where it was not measured; likewise what is None elsewhere.
    """

    n_s: int
    trials: int
    stopped: int
    failed: int
    repeated: int
    resumed: int
    epochs: float
    images: float
    device_seconds: float
    wasted: float
    parts: Mapping[str, float]
    outside: float | None
    peak_memory: float
    wall_s: float | None
    energy_j: float | None


@dataclass(frozen=True)
class Utilisation:
    """Work done by all executions against slots × wall time."""

    wall_s: float
    slot_seconds: float
    busy_s: float

    @property
    def share(self) -> float:
        """busy / (slots × wall); not-a-number before an execution has ended."""
        return self.busy_s / self.slot_seconds if self.slot_seconds > 0 else math.nan


def cost_of(trials: Iterable[Trial]) -> Cost:
    """The cost of these trials; a record without a cost makes the sums not-a-number rather than too small."""
    ran = [trial for trial in trials if trial.record is not None]
    records = [trial.record for trial in ran]
    statuses = Counter(trial.status for trial in ran)
    return Cost(
        n_s=len({key_of(t.configuration) for t in ran}),
        trials=len(ran),
        stopped=statuses["stopped"],
        failed=statuses["failed"] + statuses["diverged"],
        repeated=sum(len(attempts.attempts(record)) for record in records),
        resumed=sum(int(cost.get("resumed") or 0) for record in records for cost in attempts.costs(record)),
        epochs=_sum(attempts.total(record, "epochs") for record in records),
        images=_sum(attempts.total(record, "images") for record in records),
        device_seconds=_sum(t.device_seconds for t in ran),
        wasted=_sum(map(attempts.wasted, records)),
        parts={part: math.fsum(attempts.total(record, part) for record in records) for part in COST_PARTS},
        outside=_known(map(attempts.outside, records)),
        peak_memory=max((float(t.record.get("peak_memory") or 0) for t in ran if t.record), default=math.nan),
        wall_s=_covered(records),
        energy_j=_known(attempts.total(record, "energy_j") for record in records) if records else None,
    )


def _known(values: Iterable[float]) -> float | None:
    total = math.fsum(values)
    return None if math.isnan(total) else total


def _covered(records: Iterable[Mapping[str, Any] | None]) -> float | None:
    try:
        return attempts.covered([span for record in records for span in attempts.spans(record)])
    except ValueError:  # a record does not say when it ran
        return None


def search_cost(results: Results, arm: str) -> Cost:
    """What the search stage of an arm cost; its `n_s` is the number of distinct configurations it trained."""
    return cost_of(results.of(arm, "search"))


def utilisation_of(executions: Sequence[Mapping[str, Any]], trials: Iterable[Trial]) -> Utilisation:
    """Utilisation over all executions that have ended: seconds of data + train + evaluation / (slots × wall)."""
    ended = [e for e in executions if e.get("wall_s") is not None]
    busy = math.fsum(
        attempts.total(t.record, part) for t in trials if t.record for part in ("data_s", "train_s", "eval_s")
    )
    return Utilisation(
        wall_s=math.fsum(e["wall_s"] for e in ended),
        slot_seconds=math.fsum(e["wall_s"] * e["slots"] for e in ended),
        busy_s=busy,
    )


def _sum(values: Iterable[float]) -> float:
    """A sum that stays a whole number when it is one."""
    total = math.fsum(values)
    return int(total) if total == total and total.is_integer() else total
