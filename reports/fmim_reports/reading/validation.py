"""Reads one record file and says why it does not count when it does not."""

from __future__ import annotations

from pathlib import Path

from fmim_core.records import QUERIES_ENDING, Record, StudyFile


def read_record(path: Path, study: StudyFile) -> tuple[Record | None, str]:
    """A record and "", or None and why it does not count."""
    if path.name.endswith(QUERIES_ENDING):
        return None, "queries without their record: the trial has not ended, or the record was taken away"
    if path.suffix != ".json" or not path.is_file():
        return None, "unknown file: records end in .json"
    try:
        record = Record.read(path, "the record")
    except ValueError as error:
        return None, str(error)
    if record.study != study.study:
        return None, f"of another study: {record.study!r}, not {study.study!r}"
    return record, ""


def reason_of(record: Record) -> str:
    """Why a trial did not complete: its error, or else its warnings."""
    if record.status == "completed":
        return ""
    if record.status == "stopped":
        return f"stopped by its search after epoch {len(record.history)}"
    error = [part for part in (record.error.kind, record.error.message) if part] if record.error else []
    return ": ".join(error) or "; ".join(record.warnings) or "no reason recorded"
