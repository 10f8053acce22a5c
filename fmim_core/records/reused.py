"""Records that a study takes over from another one, and finding them quickly."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from fmim_core.records.document import DocumentPart, DottedName, Name, Time

HEAD_BYTES = 4096
"""Of a record, enough for its status and fingerprint: the long parts, history and metrics, come after them."""

_STATUS = b'\n "status": '
_COMPLETED = re.compile(rb'\n "status": "completed",\n "fingerprint": "([0-9a-f]{64})",\n')


class ReusedFrom(DocumentPart):
    """The trial of another study whose record was taken over, since its training would have been the same.

    All that was measured, what it cost and when it ran are that trial's; the fingerprint is the same for both.
    """

    folder: str = Field(description="the folder of the study that ran it, from the folder of all studies")
    study: Name = Field(description="that study's name")
    trial: DottedName = Field(description="its name there")
    sha256: str = Field(description="SHA-256 in its record there")
    taken_over_at: Time = Field(description="when this study took it over, ISO 8601")


def completed_trials(out: Path) -> Iterator[tuple[str, Path]]:
    """Fingerprint and file of each record in a study's folder that says of itself that it is completed.

    It reads the beginnings of the files alone, to find a few among a hundred thousand in seconds: whether a record is
    whole and true shows when it is read.
    """
    folder = out / "records"
    names = sorted(name for name in os.listdir(folder) if name.endswith(".json")) if folder.is_dir() else ()
    for name in names:
        with open(f"{folder}/{name}", "rb", buffering=0) as file:
            head = file.read(HEAD_BYTES)
            if _STATUS not in head:  # behind the values of very many parameters
                head += file.read()
        if found := _COMPLETED.search(head):
            yield found[1].decode(), folder / name
