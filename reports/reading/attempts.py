"""What a trial cost: its record's cost and that of the attempts that failed before it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

COST_PARTS = ("startup_s", "data_s", "train_s", "eval_s")
LOST = "lost_s"  # the last seconds of a worker that died, which belong to no part

Record = Mapping[str, Any]
Span = tuple[float, float]


def attempts(record: Record | None) -> list[Mapping[str, Any]]:
    """The attempts that failed before, less what a later one resumed from."""
    return list((record or {}).get("attempts") or [])


def costs(record: Record | None) -> list[Mapping[str, Any]]:
    """The record's cost and its attempts'."""
    return [(record or {}).get("cost") or {}, *(attempt["cost"] for attempt in attempts(record))]


def total(record: Record | None, name: str) -> float:
    """The sum of an entry over all attempts; not-a-number where one does not say it."""
    return math.fsum(_number(cost, name) for cost in costs(record))


def device_seconds(record: Record | None) -> float:
    """(startup + data + train + evaluation seconds, and lost ones) × device share, of all attempts."""
    return math.fsum(_busy(cost) * _number(cost, "device_share") for cost in costs(record))


def wasted(record: Record | None) -> float:
    """Of the device-seconds those of attempts that failed."""
    return math.fsum(_busy(cost) * _number(cost, "device_share") for cost in costs(record)[1:])


def outside(record: Record | None) -> float:
    """Wall seconds that are none of start-up, data, training and evaluation; not-a-number where it is not recorded."""
    return math.fsum(_number(cost, "wall_s") - _parts(cost) for cost in costs(record))


def spans(record: Record | None) -> list[Span]:
    """From when to when each attempt ran: the wall seconds before its end, so that interruptions do not count.

    Raises:
        ValueError: a time is not recorded.
    """
    if record is None:
        return []
    return [_span(record, record.get("cost") or {}), *(_span(a, a["cost"]) for a in attempts(record))]


def covered(found: list[Span]) -> float:
    """Seconds in which at least one span was running."""
    total, reached = 0.0, -math.inf
    for begin, end in sorted(found):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def _span(times: Mapping[str, Any], cost: Mapping[str, Any]) -> Span:
    begin, end = (_time(times.get(name)) for name in ("started_at", "ended_at"))
    return (begin if cost.get("wall_s") is None else end - float(cost["wall_s"])), end


def _time(text: Any) -> float:
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is no time")
    return datetime.fromisoformat(text).timestamp()


def _parts(cost: Mapping[str, Any]) -> float:
    return math.fsum(_number(cost, part) for part in COST_PARTS)


def _busy(cost: Mapping[str, Any]) -> float:
    return _parts(cost) + float(cost.get(LOST) or 0.0)


def _number(cost: Mapping[str, Any], name: str) -> float:
    value = cost.get(name)
    return math.nan if value is None else float(value)
