"""The optimism of the score that an arm was selected by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reports.parts.optimism import optimism_plot, optimism_table
from reports.reading.results import read_results
from tests.support.factories import configurations, level
from tests.support.file_contents import edit
from tests.support.out_folders import by_arm, record
from tests.support.replicate_studies import assert_drawn


def test_optimism_is_validation_minus_fresh_seeds_and_that_of_a_left_out_fold(out: Path) -> None:
    # On the first fold the second configuration looks best, on the others the third does.
    path = record(out, "triplet_grid.c01.fold0")
    metrics = json.loads(path.read_text())["metrics"]
    edit(path, metrics={**metrics, "validation": {**metrics["validation"], "mAP": 0.96}})
    found = by_arm(optimism_table(read_results(out)))
    scores = {
        c: [level("triplet_grid", configurations("triplet_grid")[c]) + (f - 1) / 100 for f in range(3)]
        for c in range(4)
    }
    scores[1][0] = 0.96
    terms = []
    for left_out in range(3):
        others = {c: sum(v for f, v in enumerate(values) if f != left_out) / 2 for c, values in scores.items()}
        winner = max(others, key=lambda c: others[c])
        terms.append(others[winner] - scores[winner][left_out])
    assert float(found["Triplet + grid search"]["left_out"]) == pytest.approx(sum(terms) / 3)
    assert float(found["Triplet + grid search"]["optimism"]) == pytest.approx(0.05)
    assert found["Triplet + Q1"]["left_out"] == ""
    assert float(found["Triplet + Q1"]["low"]) < 0.05 < float(found["Triplet + Q1"]["high"])
    assert_drawn(optimism_plot(read_results(out)))
