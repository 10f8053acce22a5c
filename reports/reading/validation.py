"""Reads one record file and says why it does not count when it does not."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from fmim_core.metric_names import split_key

STATUSES = ("completed", "stopped", "diverged", "failed")
SPLIT_OF_STAGE = {"search": "validation", "replicate": "test"}
REQUIRED = (
    "trial",
    "study",
    "arm",
    "configuration",
    "stage",
    "replicate",
    "status",
    "metrics",
    "history",
    "cost",
)


def read_record(path: Path, study: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """A record and "", or None and why it does not count."""
    if path.suffix != ".json" or not path.is_file():
        return None, "unknown file: records end in .json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        return None, f"malformed: not JSON ({error})"
    if not isinstance(record, dict):
        return None, "malformed: not a JSON object"
    lacking = [name for name in REQUIRED if name not in record]
    if lacking:
        return None, f"malformed: lacks {', '.join(lacking)}"
    if record["study"] != study["study"]:
        return None, f"of another study: {record['study']!r}, not {study['study']!r}"
    return (None, f"malformed: {why}") if (why := _malformed(record)) else (record, "")


def _malformed(record: Mapping[str, Any]) -> str:
    if not isinstance(record["trial"], str) or not isinstance(record["arm"], str):
        return "trial and arm must be names"
    if not isinstance(record["configuration"], dict) or not isinstance(record["metrics"], dict):
        return "configuration and metrics must be mappings"
    if record["stage"] not in SPLIT_OF_STAGE:
        return f"stage {record['stage']!r} is not one of {', '.join(SPLIT_OF_STAGE)}"
    if record["status"] not in STATUSES:
        return f"status {record['status']!r} is not one of {', '.join(STATUSES)}"
    history = record["history"]
    if not isinstance(history, list) or not all(isinstance(row, dict) and "epoch" in row for row in history):
        return "history is not a list of epochs"
    if not isinstance(record["replicate"], int):
        return f"replicate {record['replicate']!r} is not a whole number"
    split = SPLIT_OF_STAGE[record["stage"]]
    if record["status"] == "completed" and not isinstance(record["metrics"].get(split), dict):
        return f"completed without {split} metrics"
    costs = _not_numbers("cost", record["cost"], {"device"}) or _bad_attempts(record.get("attempts") or [])
    return costs or _not_numbers(split, record["metrics"].get(split))


def _bad_attempts(attempts: Any) -> str:
    if not isinstance(attempts, list) or not all(
        isinstance(a, dict) and isinstance(a.get("cost"), dict) for a in attempts
    ):
        return "attempts is not a list of earlier attempts with their costs"
    found = (_not_numbers("an attempt's cost", attempt["cost"], {"device"}) for attempt in attempts)
    return next((why for why in found if why), "")


def _not_numbers(what: str, values: Any, words: Collection[str] = ()) -> str:
    """Which entry of a mapping of numbers is not one, or has a name that is not a metric's; empty when all are."""
    if values is not None and not isinstance(values, dict):
        return f"{what} is not a mapping"
    for name, value in (values or {}).items():
        if name not in words and not (value is None or isinstance(value, int | float)):
            return f"{what}[{name!r}] is {value!r}, not a number"
        try:
            split_key(name)
        except ValueError as error:
            return str(error)
    return ""


def reason_of(record: Mapping[str, Any]) -> str:
    """Why a trial did not complete: its error, or else its warnings."""
    if record["status"] == "completed":
        return ""
    if record["status"] == "stopped":
        return f"stopped by its search after epoch {len(record['history'])}"
    error = record.get("error") or {}
    if not isinstance(error, dict):
        return str(error)
    said = ": ".join(str(error[part]) for part in ("kind", "message") if error.get(part))
    return said or "; ".join(map(str, record.get("warnings") or [])) or "no reason recorded"
