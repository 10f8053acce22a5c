"""The record of an equal trial, checked, and written under another trial's name with the files that belong to it."""

from __future__ import annotations

from pathlib import Path

import torch

from fmim_core.records import (
    Record,
    ReusedFrom,
    link_or_copy,
    now,
    queries_path,
    read_json,
    read_queries,
)
from fmim_core.trial.checkpoint import checkpoint_path, read_checkpoint
from fmim_core.trial.spec import TrialSpec

OF_THE_STUDY = ("trial", "study", "preset", "arm", "configuration", "search_split", "config", "data")
"""What a record says of its trial and study; trials of one fingerprint have all other settings in common."""


def read_usable(path: Path, spec: TrialSpec, on_gpu: bool) -> Record:
    """Return the record in a file, if it can stand for the trial as if it had run here, with all its files whole.

    Raises:
        ValueError: it cannot; says why.
        OSError: a file cannot be read.
    """
    record = Record.read(path)
    if record.fingerprint != spec.fingerprint or not record.has_result:
        raise ValueError(f"{path} is not what its first lines say")
    trained = "the CPU" if record.cost.device == "cpu" else record.cost.device
    if (record.cost.device != "cpu") != on_gpu:
        raise ValueError(f"trained on {trained}, which rounds otherwise than {'a GPU' if on_gpu else 'the CPU'}")
    if record.environment.get("torch") != torch.__version__:
        raise ValueError(f"trained with torch {record.environment.get('torch')}, here is {torch.__version__}")
    out = path.parents[1]
    if record.queries_sha256 is not None:
        read_queries(queries_path(out, record.trial), record.queries_sha256)
    if _has_weights(record):
        _check_weights(checkpoint_path(out, record.trial), record)
    return record


def _has_weights(record: Record) -> bool:
    """Say whether the weights of its model were kept."""
    return record.stage == "replicate" and record.status == "completed"


def _check_weights(path: Path, record: Record) -> None:
    content = read_checkpoint(path, torch.device("cpu"))
    if content is None or not content["complete"] or content["fingerprint"] != record.fingerprint:
        raise ValueError(f"{path} does not hold the weights of {record.trial}")


def write_copy(path: Path, record: Record, spec: TrialSpec, out: Path, folder: str | None) -> Record:
    """Write a usable record of an equal trial as this trial's own, after the files that belong to it; returns it.

    Args:
        path: where the record lies.
        folder: how the record calls the folder of its study; None if it is this one.
    """
    theirs = path.parents[1]
    if record.queries_sha256 is not None:
        link_or_copy(queries_path(theirs, record.trial), queries_path(out, spec.id))
    if _has_weights(record):
        link_or_copy(checkpoint_path(theirs, record.trial), checkpoint_path(out, spec.id))
    taken = record.changed(
        {name: value for name, value in dict(spec.record(record.started_at)).items() if name in OF_THE_STUDY}
        | {"reused_from": _origin(path, record, folder)}
    )
    taken.save(out)
    return taken


def _origin(path: Path, record: Record, folder: str | None) -> ReusedFrom:
    """Return where the trial ran: where its record lies, or where that was taken from."""
    before = record.reused_from
    if before is not None:
        changes = {"taken_over_at": now()} | ({"folder": folder} if before.folder is None else {})
        return before.model_copy(update=changes)
    sha256 = read_json(path)["sha256"]
    return ReusedFrom(folder=folder, study=record.study, trial=record.trial, sha256=sha256, taken_over_at=now())
