"""Checkpoints: files that plain `torch.load` reads, written whole or not at all, with their SHA-256 and a version.

torch notices a file that is cut short, and not one in which a bit of a weight has changed. The SHA-256 of the file
stands in its last field, the comment that a ZIP archive may have, which every reader of such archives skips.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import torch

from fmim_core.records import Damaged, write_bytes

FORMAT = 3
"""Raise it when what is saved means something else: a checkpoint of another form is not resumed from."""

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
        Damaged: it is not what was written.
    """
    if not path.exists():
        return None
    stored, _, digest = path.read_bytes().rpartition(MARK)
    archive = stored[: -len(NO_COMMENT)] + NO_COMMENT
    if hashlib.sha256(archive).hexdigest().encode() != digest:
        raise Damaged(f"{path} is damaged: its SHA-256 is not the one that it ends with")
    content: dict[str, Any] = torch.load(io.BytesIO(archive), map_location=device, weights_only=True)
    return content if content.get("format") == FORMAT else None
