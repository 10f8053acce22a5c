"""Checkpoints: files that plain `torch.load` reads, replaced atomically."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch


def save(path: Path, content: dict[str, Any]) -> None:
    """Save tensors and plain values; a crash leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    torch.save(content, part)
    part.replace(path)


def load(path: Path, device: torch.device) -> dict[str, Any]:
    """The content of a checkpoint, with torch's safe default: no code in it is run."""
    return torch.load(path, map_location=device, weights_only=True)
