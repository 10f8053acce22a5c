"""Studies that differ in one thing each from the first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.factories import make_out
from tests.support.file_contents import edit
from tests.support.query_files import write_query_files

ARMS = ["triplet_grid", "triplet_automargin"]
SHIFTS = (0.02, 0.03, 0.01, 0.025, 0.015)
"""By how much the second study's seeds score better."""


def of_study(out: Path, part: str, **changes: Any) -> dict[str, Any]:
    """A part of study.json with these changes."""
    content: dict[str, Any] = json.loads((out / "study.json").read_text(encoding="utf-8"))[part]
    return content | changes


def edit_replicates(out: Path, shifts: tuple[float, ...] = (0.0,) * 5, seed: int = 0, **metrics: float) -> None:
    """Shift the test mAP of each seed, add so much to the seeds of training, and set other test metrics."""
    for path in (out / "records").glob("*.seed*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        test = record["metrics"]["test"]
        test |= {"mAP": test["mAP"] + shifts[record["replicate"]], **metrics}
        edit(path, metrics={"validation": None, "test": test}, seed=record["seed"] + seed)


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By what is different from `first`: code and numbers, seeds, data, metric, or how well a random ranking scores."""
    root, names = tmp_path_factory.mktemp("studies"), ("first", "code", "seeds", "data", "metric", "knees")
    made = {name: make_out(root / name, folds=1, arms=ARMS) for name in names}
    changes = {
        "code": {"environment": of_study(made["code"], "environment", git_commit="badc0de1" * 5 + "-dirty")},
        "seeds": {"seed": 7},
        "data": {"data": of_study(made["data"], "data", fingerprint="f" * 64, images=900)},
        "metric": {"metric": "CMC_1"},
    }
    for name, changed in changes.items():
        edit(made[name] / "study.json", **changed)
    edit_replicates(made["code"], SHIFTS)
    edit_replicates(made["seeds"], seed=70)
    edit_replicates(made["knees"], chance_mAP=0.08)
    for name in ("first", "code", "seeds"):
        write_query_files(made[name])
    return made
