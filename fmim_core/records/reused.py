"""Records that a trial takes over from an equal one, and finding them quickly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from fmim_core.records.document import DocumentPart, DottedName, Name, Time
from fmim_core.records.files import json_files

_RESULT = re.compile(rb'\n "status": "(?:completed|diverged)",\n "fingerprint": "([0-9a-f]{64})",\n')

THIS_STUDY = "this study"
"""What reports call the study's own folder where it stands beside those of others."""


class ReusedFrom(DocumentPart):
    """The trial whose record was taken over, since this one's training would have been the same.

    All that was measured, what it cost and when it ran are that trial's; the fingerprint is the same for both.
    """

    folder: str | None = Field(
        description="the folder of the study that ran it, from the folder of all studies; null if it was this study"
    )
    study: Name = Field(description="that study's name")
    trial: DottedName = Field(description="its name there")
    sha256: str = Field(description="SHA-256 in its record there")
    taken_over_at: Time = Field(description="when this study took it over, ISO 8601")

    @property
    def where(self) -> str:
        """The folder of the study that ran it, or `this study`."""
        return THIS_STUDY if self.folder is None else self.folder


def trials_with_result(out: Path) -> Iterator[tuple[str, Path]]:
    """Yield fingerprint and file of each record in a study's folder that says of itself that it has a result.

    That is a completed or a diverged trial: run again it would end in the same way. Whether a record is whole and true
    shows when it is read, and few of those found here are.
    """
    for path in json_files(out / "records"):
        if found := _RESULT.search(path.read_bytes()):
            yield found[1].decode(), path
