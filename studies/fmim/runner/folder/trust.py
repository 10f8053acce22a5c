"""What this user has run or named on this machine; all else that a folder brings is somebody else's.

It is kept outside of any study, as empty files named by SHA-256 below XDG_STATE_HOME, so that no folder can say it of
itself, and a user's own study may be moved and copied.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from fmim_core.fingerprint import sha256_of_text
from fmim_core.records import StudyFile


def remember(what: str) -> None:
    """Remember that this user has run the code of this SHA-256, or named this address, if anything can be kept."""
    if place := _place(what):
        with suppress(OSError):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.touch()


def is_known(what: str) -> bool:
    """Return whether this user has run or named it before."""
    place = _place(what)
    return place is not None and os.path.isfile(place)


def _place(what: str) -> Path | None:
    """Return the place of a mark; None where it would be relative to a folder, which may be somebody else's."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(state, "fmim", "trusted", sha256_of_text(what)) if os.path.isabs(state) else None


def check_code(out: Path, study: StudyFile, trust_code: bool) -> None:
    """Check that a study brings no code, or code that this user has run or says to trust.

    Raises:
        ValueError: it is somebody else's; says whose, and what to do.
    """
    if study.code is None or trust_code or is_known(study.code.sha256):
        return
    files, host = ", ".join(file.path for file in study.code.files), study.environment.get("host", "an unknown machine")
    raise ValueError(
        f"{out} brings Python code that you have not run here: {files} of the study {study.study!r}, from {host}. "
        "Loading its model runs this code, which can do anything that you can. Read it (study.json has its text), and "
        "if you trust it, give --trust-code, or in Python trust_code=True"
    )
