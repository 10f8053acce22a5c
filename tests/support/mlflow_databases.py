"""MLflow's database with its tables and nothing in it, which MLflow itself makes in seconds: here once a process."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from fmim.runner.tracking.address import ARTIFACTS, TrackingAddress
from fmim.runner.tracking.database import prepare


def tracked_in(folder: Path) -> str:
    """The address of mlflow.db in a folder, which is made there unless there is one."""
    path = folder / "mlflow.db"
    if not path.exists():
        path.write_bytes(_empty())
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE experiments SET artifact_location = ?", ((folder / ARTIFACTS).as_uri(),))
    return f"sqlite:///{path}"


@cache
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mlflow.db")
        prepare(TrackingAddress.of(f"sqlite:///{path}"), print)
        return path.read_bytes()
