"""Checkpoints: files that plain `torch.load` reads, written whole or not at all, with their SHA-256 and a version.

torch notices a file that is cut short, and not one in which a bit of a weight has changed. The SHA-256 of the file
stands in its last field, the comment that a ZIP archive may have, which every reader of such archives skips.
"""

from __future__ import annotations

import hashlib
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import nn

from fmim_core.config import in_words
from fmim_core.records import Damaged, Record, check_is_file, read_file, write_bytes
from fmim_core.seeding import scoped_torch_seed
from fmim_core.training.config import TrainConfig
from fmim_core.training.ensemble import Ensemble
from fmim_core.training.evaluation import Evaluator
from fmim_core.training.step import initial_model

FORMAT = 3
"""Raise it when the saved content changes: a checkpoint of another version is not resumed."""

NO_COMMENT = b"\0\0"  # how an archive ends that has none
MARK = b"sha256="


def checkpoint_path(out: Path, trial: str) -> Path:
    """Return the place of a trial's checkpoint in a study's folder."""
    return out / "checkpoints" / f"{trial}.pt"


def write_checkpoint(path: Path, content: dict[str, Any]) -> None:
    """Write tensors and plain values; after a crash the old file is there, or the new one."""
    buffer = io.BytesIO()
    torch.save({"format": FORMAT} | content, buffer)
    archive = buffer.getvalue()
    assert archive.endswith(NO_COMMENT)
    comment = MARK + hashlib.sha256(archive).hexdigest().encode()
    write_bytes(path, archive.removesuffix(NO_COMMENT) + len(comment).to_bytes(2, "little") + comment)


def read_checkpoint(path: Path, device: torch.device) -> dict[str, Any] | None:
    """Return the content of a checkpoint; None where there is none, or one of another form.

    With torch's safe default: no code in it is run.

    Raises:
        Damaged: it is no file, or not what was written.
    """
    try:
        stored, _, digest = read_file(path).rpartition(MARK)
    except FileNotFoundError:
        return None
    archive = stored[: -len(NO_COMMENT)] + NO_COMMENT
    if hashlib.sha256(archive).hexdigest().encode() != digest:
        raise Damaged(f"{path} is damaged: its SHA-256 differs from the one at its end")
    content: dict[str, Any] = torch.load(io.BytesIO(archive), map_location=device, weights_only=True)
    return content if content.get("format") == FORMAT else None


def ends_whole(path: Path) -> bool:
    """Return whether a file ends as a checkpoint does, which one that is cut short does not; only its end is read."""
    with suppress(OSError, Damaged):
        check_is_file(path)
        with path.open("rb") as file:
            file.seek(-len(MARK) - 2 * hashlib.sha256().digest_size, os.SEEK_END)
            return file.read(len(MARK)) == MARK
    return False


def kept_model(out: Path, record: Record, device: torch.device) -> Evaluator:
    """Return the network of a completed replicate with its weights; of a fold ensemble an `Ensemble` of all members.

    Args:
        out: the study's folder.

    Raises:
        ValueError: the weights are missing, cannot be read, or belong to another trial; or the record's configuration
            is not known here, or makes another network.
    """
    path = checkpoint_path(out, record.trial)
    try:
        weights = kept_weights(out, record)
    except ValueError as error:
        raise ValueError(
            f"{error}. Copy the checkpoints with the study's folder, or train the model again: the command that ran "
            "the study, with --remake-weights"
        ) from error
    try:
        config = TrainConfig.model_validate(record.config)
    except ValidationError as error:
        raise ValueError(f"{record.path(out)}: this program does not know its training: {in_words(error)}") from error
    # Where the training started from does not matter any more: no pretrained weights are looked for.
    start = config.model_copy(update={"model": config.model.without_weights()})
    with scoped_torch_seed(record.seed, "model"):  # what the networks are built with is replaced at once
        models = nn.ModuleList(initial_model(start, device) for _ in record.members or range(1))
    model = models if record.members else models[0]
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit the network {config.model!r}: was its code changed? {error}") from error
    return Ensemble(config, models, device) if record.members else Evaluator(config, model, device)


def kept_weights(out: Path, record: Record) -> dict[str, Any]:
    """Return the weights of a completed replicate, as they are in its checkpoint.

    Raises:
        ValueError: they are missing, damaged, or another trial's; names the file.
    """
    path = checkpoint_path(out, record.trial)
    content = read_checkpoint(path, torch.device("cpu"))
    if content is None and not os.path.lexists(path):
        own = " (its trainer keeps them if it has state() and load_state())" if "trainer" in record.config else ""
        raise ValueError(f"the weights of {record.trial} are missing: there is no {path}{own}")
    if content is None or not content["complete"]:
        raise ValueError(f"{path} does not hold the weights of a finished training of this version")
    if content["fingerprint"] != record.fingerprint:
        raise ValueError(f"{path} holds the weights of another trial than {record.path(out)}")
    weights: dict[str, Any] = content["model"]
    return weights
