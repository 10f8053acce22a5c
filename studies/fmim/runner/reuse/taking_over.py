"""Taking over a completed trial of another study: its record, checked, under this study's name, with its files."""

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
from fmim_core.trial.checkpoint import checkpoint_path, load
from fmim_core.trial.spec import TrialSpec

OF_THE_STUDY = ("trial", "study", "preset", "arm", "configuration", "search_split", "config", "data")
"""What a record says of its study; trials of one fingerprint have all other settings in common."""


def usable(path: Path, spec: TrialSpec, on_gpu: bool) -> Record:
    """The record in a file, if it can stand for the trial as if it had run here, with all its files whole.

    Raises:
        ValueError: it cannot; says why.
        OSError: a file cannot be read.
    """
    record = Record.read(path)
    if record.fingerprint != spec.fingerprint or record.status != "completed":
        raise ValueError(f"{path} is not what its first lines say")
    trained = "the CPU" if record.cost.device == "cpu" else record.cost.device
    if (record.cost.device != "cpu") != on_gpu:
        raise ValueError(f"trained on {trained}, which rounds otherwise than {'a GPU' if on_gpu else 'the CPU'}")
    if record.environment.get("torch") != torch.__version__:
        raise ValueError(f"trained with torch {record.environment.get('torch')}, here is {torch.__version__}")
    out = path.parents[1]
    if record.queries_sha256 is not None:
        read_queries(queries_path(out, record.trial), record.queries_sha256)
    if record.stage == "replicate":
        _check_weights(checkpoint_path(out, record.trial), record)
    return record


def _check_weights(path: Path, record: Record) -> None:
    content = load(path, torch.device("cpu"))
    if content is None or not content["complete"] or content["fingerprint"] != record.fingerprint:
        raise ValueError(f"{path} does not hold the weights of {record.trial}")


def take_over(path: Path, record: Record, spec: TrialSpec, out: Path, folder: str) -> Record:
    """Write a usable record of another study as this trial's own, after the files that belong to it; returns it.

    Args:
        path: where the record lies.
        folder: how the record calls the folder of its study.
    """
    theirs = path.parents[1]
    if record.queries_sha256 is not None:
        link_or_copy(queries_path(theirs, record.trial), queries_path(out, spec.id))
    if record.stage == "replicate":
        link_or_copy(checkpoint_path(theirs, record.trial), checkpoint_path(out, spec.id))
    origin = ReusedFrom(
        folder=folder, study=record.study, trial=record.trial, sha256=read_json(path)["sha256"], taken_over_at=now()
    )
    if record.reused_from is not None:  # it was taken over there, too: what is named is where it ran
        origin = record.reused_from.model_copy(update={"taken_over_at": origin.taken_over_at})
    own = dict(spec.record(record.started_at))
    here = {name: own[name] for name in OF_THE_STUDY}
    taken = record.changed(here | {"reused_from": origin})
    taken.save(out)
    return taken
