"""Artifacts of a database that has moved or been copied with its folder: MLflow keeps their places as whole paths."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.sqlite.database import ARTIFACTS

PLACES = (  # table, the column with its key, the one with the place of artifacts, and whether there must be some
    ("experiments", "experiment_id", "artifact_location", False),  # where new runs have theirs
    ("runs", "run_uuid", "artifact_uri", True),
    ("logged_models", "model_id", "artifact_location", True),
)


def find_artifacts_again(address: TrackingAddress, tell: Callable[[str], None]) -> None:
    """Let the study's own database name its artifacts where they lie now: in the folder beside it.

    Of runs and models only places change whose files are there, and all at once or none. A database that somebody named
    is left as it is.
    """
    path = address.file
    if path is None or not address.own or not path.exists():
        return
    with contextlib.closing(sqlite3.connect(path, timeout=20.0)) as database, database:
        moved = 0
        for table, key, column, must_exist in PLACES:
            for number, place in database.execute(f"SELECT {key}, {column} FROM {table}").fetchall():
                new = _place_beside(place or "", path.parent)
                if new is not None and new.as_uri() != place and (new.exists() or not must_exist):
                    database.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (new.as_uri(), number))
                    moved += 1
    if moved:
        tell(f"MLflow's database has moved to {path.parent}: artifacts are looked for there, too ({moved} places)")


def _place_beside(place: str, folder: Path) -> Path | None:
    """Where artifacts are now that were beside the database when it lay elsewhere; None where they never were."""
    parts = Path(unquote(urlsplit(place).path)).parts
    if not place.startswith("file:") or ARTIFACTS not in parts:
        return None
    within = parts[len(parts) - parts[::-1].index(ARTIFACTS) :]
    return folder.joinpath(ARTIFACTS, *within)
