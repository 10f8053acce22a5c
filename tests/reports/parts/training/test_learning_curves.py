"""Learning curves of compared arms, and what the report says where one whose margins follow training trails."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_core.records import read_json, write_json
from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.parts.training.learning import (
    last_gain,
    learning_curves,
    learning_curves_plot,
    trailing_cautions,
)
from fmim_reports.reading.results import read_results
from tests.support.factories import best, configurations, make_out

GRID, AUTOMARGIN = "triplet_grid", "triplet_automargin"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Grid search and AutoMargin, validated at epochs 2 and 4 on two folds: 0.5 and 0.6, or 0.5 and 0.52."""
    out = make_out(tmp_path / "out", folds=2, replicates=2, arms=(GRID, AUTOMARGIN))
    for arm, end in ((GRID, 0.52), (AUTOMARGIN, 0.6)):
        number = configurations(arm).index(best(arm))
        for fold in range(2):
            path = out / "records" / f"{arm}.c{number:02d}.fold{fold}.json"
            content = read_json(path)
            row = {name: value for name, value in content["history"][0].items() if name != "validation_mAP"}
            values = {2: 0.5 + fold / 100, 4: end + fold / 100}
            rows = [row | {"epoch": epoch} for epoch in (1, 2, 3, 4)]
            content["history"] = [
                each | ({"validation_mAP": values[each["epoch"]]} if each["epoch"] in values else {}) for each in rows
            ]
            write_json(path, content)
    return out


def set_test(out: Path, arm: str, value: float) -> None:
    for path in (out / "records").glob(f"{arm}.*.seed*.json"):
        content = read_json(path)
        content["metrics"]["test"]["mAP"] = value
        write_json(path, content)


def test_a_curve_has_the_validated_epochs_by_fold(out: Path) -> None:
    curves = learning_curves(read_results(out))
    assert list(curves) == [GRID, AUTOMARGIN]
    assert curves[AUTOMARGIN] == {2: {0: 0.5, 1: 0.51}, 4: {0: 0.6, 1: 0.61}}
    before, end, gain = last_gain(curves[AUTOMARGIN])
    assert (before, end, gain) == (2, 4, pytest.approx(0.1))
    alt = learning_curves_plot(read_results(out)).alt
    assert "Triplet + AutoMargin from 50.5 % at epoch 2 to 60.5 % at epoch 4" in alt


def test_an_arm_that_trails_while_its_margins_follow_training_is_said_to_still_learn(out: Path) -> None:
    set_test(out, GRID, 0.9)
    set_test(out, AUTOMARGIN, 0.8)
    (caution,) = trailing_cautions(read_results(out))
    assert caution.startswith("Triplet + AutoMargin scores lower than Triplet + grid search.")
    assert "from epoch 2 to 4, the last, validation mAP of the two still changed by +10.00 and +2.00" in caution


def test_an_arm_that_leads_needs_no_such_words(out: Path) -> None:
    set_test(out, GRID, 0.8)
    set_test(out, AUTOMARGIN, 0.9)
    assert trailing_cautions(read_results(out)) == []


def test_without_a_selected_configuration_there_is_no_curve(out: Path) -> None:
    write_json(out / "selection.json", read_json(out / "selection.json") | {"arms": {}})
    with pytest.raises(NothingToDraw, match="no compared arm"):
        learning_curves_plot(read_results(out))
