"""Records without what may differ between two runs of one plan: times, places, memory, attempts, and who trained it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fmim_core.records import Record, read_records

VARIES = {"started_at", "ended_at", "test_opened_at", "peak_memory", "environment", "attempts", "reused_from"}
VARIES_IN_COST = {"startup_s", "data_s", "train_s", "eval_s", "lost_s", "wall_s", "energy_j", "resumed"}


def comparable(record: Record) -> str:
    """A record as text to the last bit (NaN equals NaN), without what may vary."""
    content = record.to_json()
    kept = {key: value for key, value in content.items() if key not in VARIES}
    kept["cost"] = {key: value for key, value in content["cost"].items() if key not in VARIES_IN_COST}
    kept["history"] = _without_seconds(content["history"])
    kept["members"] = [member | {"history": _without_seconds(member["history"])} for member in content["members"]]
    return repr(sorted(kept.items()))


def _without_seconds(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in history]


def comparable_records(out: Path) -> dict[str, str]:
    """All records of a study's folder, by trial."""
    return {record.trial: comparable(record) for record in read_records(out)}
