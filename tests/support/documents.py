"""Documents, or parts of them, with every entry; and records without what may differ between two runs of one plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fmim_core.records import (
    Cost,
    EpochRow,
    Execution,
    FoldEntry,
    Metrics,
    Proposal,
    ProposalsFile,
    Record,
    Status,
    Stopped,
    read_records,
)
from fmim_core.trial.spec import TrialSpec

AT = "2026-01-01T00:00:00.000Z"
ENTRIES: dict[str, Any] = {
    "loss": 0.5,
    "epsilon": 0.25,
    "beta": 0.5,
    "delta_mean": 0.5,
    "phi_an_mean": 0.25,
    "phi_ap_mean": 0.75,
    "active_share": 0.5,
    "batches": 5,
    "empty_batches": 0,
    "subjects_seen_share": 1.0,
    "seconds": 0.0,
}


def epoch_row(epoch: int, **entries: Any) -> EpochRow:
    """An epoch's row; what is not given is as in `ENTRIES`."""
    return EpochRow.model_validate({"epoch": epoch} | ENTRIES | entries)


def trial_record(
    spec: TrialSpec, status: Status, values: dict[str, float] | None, history: list[EpochRow] | None = None
) -> Record:
    """The record of a trial with these values on what its stage measures; only a completed one has them as metrics."""
    rows = tuple(history or ())
    split = "validation" if spec.stage == "search" else "test"
    metrics = Metrics.model_validate({split: values}) if status == "completed" else Metrics()
    stopped = Stopped(after_epoch=len(rows), kept_epoch=len(rows), validation=values) if status == "stopped" else None
    cost = Cost(epochs=len(rows), train_s=1.0 * len(rows), device="cpu", device_share=1.0)
    parts = {"status": status, "metrics": metrics, "stopped": stopped, "history": rows, "cost": cost}
    return spec.record(AT).changed(parts)


def fold_entry(fold: int) -> FoldEntry:
    """A fold of 8 subjects to train on and 4 to validate with."""
    return FoldEntry(
        fold=fold,
        train_subjects=8,
        train_images=48,
        validation_subjects=4,
        validation_images=24,
        validation_gallery=8,
        validation_queries=16,
        validation_queries_without_match=0,
        validation_queries_by_time={"1": 8, "4": 8},
        validation_times_missing=[],
    )


def execution(slots: int = 2) -> Execution:
    """An execution that has not ended."""
    return Execution(started_at=AT, slots=slots, backend="inline", device="cpu", tracking_uri="sqlite:////nowhere.db")


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


def proposals(out: Path) -> dict[str, list[Proposal]]:
    """By the name of the arm, in the order of their numbers."""
    return ProposalsFile.read(out / "proposals.json").arms
