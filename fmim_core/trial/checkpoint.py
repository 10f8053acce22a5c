"""Checkpoints: files that plain `torch.load` reads, written whole or not at all, with a version of their form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from fmim_core.records import replacing

FORMAT = 2
"""Raise it when what is saved means something else: a checkpoint of another form is not resumed from."""


def checkpoint_path(out: Path, trial: str) -> Path:
    """Where a trial's checkpoint lies in a study's folder."""
    return out / "checkpoints" / f"{trial}.pt"


def save(path: Path, content: dict[str, Any]) -> None:
    """Save tensors and plain values; after a crash the old file is there, or the new one."""
    with replacing(path) as file:
        torch.save({"format": FORMAT} | content, file)


def load(path: Path, device: torch.device) -> dict[str, Any] | None:
    """The content of a checkpoint; None where there is none, or one of another form.

    With torch's safe default: no code in it is run.
    """
    if not path.exists():
        return None
    content: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    return content if content.get("format") == FORMAT else None
