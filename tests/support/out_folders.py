"""What tests of reports read of an OUT folder and change in it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from fmim_reports.build import write_tables
from fmim_reports.reading.results import read_results
from fmim_reports.writing.tables import Table
from tests.support.file_contents import FACTS, edit
from tests.support.replicate_studies import rows


def table(out: Path, name: str) -> list[dict[str, str]]:
    """The rows of a table of the report that lies in the folder."""
    with (out / "report" / "tables" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def tables_alone(out: Path) -> None:
    """Write the report's tables, which takes a fraction of what its figures take."""
    write_tables(read_results(out), out / "report")


@contextmanager
def without_figures() -> Iterator[None]:
    """Reports of the block have no figures: drawing them takes nine tenths of the time."""
    with patch("fmim_reports.build.write_figures", lambda plots, source, report: []):
        yield


@pytest.fixture(scope="module")
def no_figures() -> Iterator[None]:
    """For a file's tests of studies whose figures nobody looks at."""
    with without_figures():
        yield


def record(out: Path, name: str) -> Path:
    """The file of a trial's record."""
    return out / "records" / f"{name}.json"


def edit_cost(path: Path, **changes: Any) -> None:
    """Overwrite some entries of a record's cost."""
    edit(path, cost={**json.loads(path.read_text())["cost"], **changes})


def set_differences(out: Path, pair: tuple[str, str], values: Sequence[float], metric: str = "mAP") -> None:
    """Make these the differences, seed by seed, of a pair of selected configurations (`ARM.cNN`) in a test metric."""
    for seed, value in enumerate(values):
        for name, mean in zip(pair, (0.7 + value, 0.7), strict=True):
            path = record(out, f"{name}.seed{seed}")
            test = json.loads(path.read_text())["metrics"]["test"]
            edit(path, metrics={"validation": None, "test": test | {metric: mean}})


def by_arm(table: Table, stage: str = "search") -> dict[str, dict[str, str]]:
    """The rows of a table of costs by the label of their arm, of one stage if the table has several."""
    return {row["arm_label"]: row for row in rows(table) if row.get("stage", stage) == stage}


def searched_by(out: Path, arm: str, **facts: bool) -> None:
    """Say in study.json what is true of an arm's search."""
    study = json.loads((out / "study.json").read_text())
    arms = [a | ({"searcher_facts": FACTS | facts} if a["name"] == arm else {}) for a in study["arms"]]
    edit(out / "study.json", arms=arms)
