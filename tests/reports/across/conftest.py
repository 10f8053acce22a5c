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


def edit_replicates(out: Path, shifts: tuple[float, ...] = (0.0,) * 5, seed: int = 0) -> None:
    """Shift the test mAP of each seed, and add so much to the seeds of training."""
    for path in (out / "records").glob("*.seed*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        test = record["metrics"]["test"] | {"mAP": record["metrics"]["test"]["mAP"] + shifts[record["replicate"]]}
        edit(path, metrics={"validation": None, "test": test}, seed=record["seed"] + seed)


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By what is different from `first`: code and numbers, seeds, data, metric, or how well a random ranking scores."""
    root = tmp_path_factory.mktemp("studies")
    made = {
        name: make_out(root / name, folds=1, arms=ARMS)
        for name in ("first", "code", "seeds", "data", "metric", "knees")
    }
    edit_replicates(made["code"], SHIFTS)
    edit(
        made["code"] / "study.json",
        environment=of_study(made["code"], "environment", git_commit="badc0de1" * 5 + "-dirty"),
    )
    edit_replicates(made["seeds"], seed=70)
    edit(made["seeds"] / "study.json", seed=7)
    edit(made["data"] / "study.json", data=of_study(made["data"], "data", fingerprint="f" * 64, images=900))
    edit(made["metric"] / "study.json", metric="CMC_1")
    for path in (made["knees"] / "records").glob("*.seed*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        edit(path, metrics={"validation": None, "test": record["metrics"]["test"] | {"chance_mAP": 0.08}})
    for name in ("first", "code", "seeds"):
        write_query_files(made[name])
    return made
