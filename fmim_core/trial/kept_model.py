"""The model that a replicate has kept, as its trial evaluated it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import nn

from fmim_core.config import in_words
from fmim_core.records import Record
from fmim_core.seeding import scoped_torch_seed
from fmim_core.training.config import TrainConfig
from fmim_core.training.ensemble import Ensemble
from fmim_core.training.evaluation import Evaluator
from fmim_core.training.step import initial_model
from fmim_core.trial.checkpoint import checkpoint_path, read_checkpoint


def kept_model(out: Path, record: Record, device: torch.device) -> Evaluator:
    """Return the network of a completed replicate with its weights; of a fold ensemble an `Ensemble` of all members.

    Args:
        out: the study's folder.

    Raises:
        ValueError: the weights are missing, cannot be read, or belong to another trial; or the record's configuration
            is not known here, or makes another network.
    """
    path = checkpoint_path(out, record.trial)
    weights = _weights(path, record)
    try:
        config = TrainConfig.model_validate(record.config)
    except ValidationError as error:
        raise ValueError(f"{record.path(out)}: its training is not known here: {in_words(error)}") from error
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


def _weights(path: Path, record: Record) -> dict[str, Any]:
    if not path.exists():
        raise ValueError(
            f"the weights of {record.trial} are missing: there is no {path}. Copy the checkpoints with the study's "
            "folder, or run the study again in another folder"
        )
    content = read_checkpoint(path, torch.device("cpu"))
    if content is None or not content["complete"]:
        raise ValueError(f"{path} does not hold the weights of a finished training of this version")
    if content["fingerprint"] != record.fingerprint:
        raise ValueError(f"{path} holds the weights of another trial than {record.path(path.parents[1])}")
    weights: dict[str, Any] = content["model"]
    return weights
