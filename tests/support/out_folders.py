"""What tests of reports read of an OUT folder and change in it."""

from __future__ import annotations

import csv
from pathlib import Path


def table(out: Path, name: str) -> list[dict[str, str]]:
    """The rows of a table of the report that lies in the folder."""
    with (out / "report" / "tables" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def record(out: Path, name: str) -> Path:
    """The file of a trial's record."""
    return out / "records" / f"{name}.json"
