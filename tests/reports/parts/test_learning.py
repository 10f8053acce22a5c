"""What the arms learn: their curves, whom the report says to still learn, and the work of the triplet term."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fmim_core.records import read_json, write_json
from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.parts.training.learning import (
    empty_batches_caution,
    last_gain,
    learning_curves,
    learning_curves_plot,
    length_cautions,
    triplet_terms,
    triplet_terms_table,
)
from fmim_reports.parts.verdict import cautions
from fmim_reports.reading.results import read_results
from tests.support.factories import best, configurations, make_out

GRID, AUTOMARGIN, Q1 = "triplet_grid", "triplet_automargin", "triplet_q1"


def change(out: Path, names: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change each record whose name fits."""
    for path in (out / "records").glob(f"{names}.json"):
        content = read_json(path)
        change(content)
        write_json(path, content)


def change_epochs(out: Path, arm: str, *, first: dict[str, Any] | None = None, **every: Any) -> None:
    """Change the rows of the history of all records of an arm."""

    def rows(content: dict[str, Any]) -> None:
        for row in content["history"]:
            row |= every | (first or {} if row["epoch"] == 1 else {})

    change(out, f"{arm}.*", rows)


@pytest.fixture
def curved(tmp_path: Path) -> Path:
    """Grid search and AutoMargin, validated at epochs 2 and 4 on two folds: 0.5 and 0.52, or 0.5 and 0.6."""
    out = make_out(tmp_path / "out", folds=2, replicates=2, arms=(GRID, AUTOMARGIN))
    for arm, end in ((GRID, 0.52), (AUTOMARGIN, 0.6)):

        def validate(content: dict[str, Any], end: float = end) -> None:
            values = {2: 0.5 + content["fold"] / 100, 4: end + content["fold"] / 100}
            row = {name: value for name, value in content["history"][0].items() if name != "validation_mAP"}
            content["history"] = [
                row | {"epoch": epoch} | ({"validation_mAP": values[epoch]} if epoch in values else {})
                for epoch in (1, 2, 3, 4)
            ]

        change(out, f"{arm}.c{configurations(arm).index(best(arm)):02d}.fold*", validate)
    return out


def set_test(out: Path, arm: str, value: float) -> None:
    change(out, f"{arm}.*.seed*", lambda content: content["metrics"]["test"].update(mAP=value))


def test_a_curve_has_the_validated_epochs_by_fold(curved: Path) -> None:
    curves = learning_curves(read_results(curved))
    assert list(curves) == [GRID, AUTOMARGIN]
    assert curves[AUTOMARGIN] == {2: {0: 0.5, 1: 0.51}, 4: {0: 0.6, 1: 0.61}}
    assert last_gain(curves[AUTOMARGIN]) == (2, 4, pytest.approx(0.1))
    alt = learning_curves_plot(read_results(curved)).alt
    assert "Triplet + AutoMargin from 50.5 % at epoch 2 to 60.5 % at epoch 4" in alt
    write_json(curved / "selection.json", read_json(curved / "selection.json") | {"arms": {}})
    with pytest.raises(NothingToDraw, match="no compared arm"):
        learning_curves_plot(read_results(curved))


def test_what_both_arms_gained_at_the_end_is_said_whoever_leads(curved: Path) -> None:
    for leader in (0.9, 0.7):
        set_test(curved, GRID, leader)
        set_test(curved, AUTOMARGIN, 0.8)
        (caution,) = length_cautions(read_results(curved))
        assert "+2.0 to +10.0 points between epoch 2 and the last, 4" in caution


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Two arms, 2 folds and 2 seeds; no batch is empty."""
    return make_out(tmp_path / "out", folds=2, replicates=2, arms=(Q1, AUTOMARGIN))


def test_batches_are_counted_over_search_and_replicates(out: Path) -> None:
    change_epochs(out, AUTOMARGIN, batches=10, first={"empty_batches": 4, "epsilon": 0.0})
    q1, automargin = triplet_terms(read_results(out))
    epochs = len(read_json(out / "records" / "triplet_q1.c00.fold0.json")["history"])
    assert (q1["empty"], q1["empty_share"]) == (0, 0.0)
    trials = 2 * 2 + 2  # two configurations on two folds, and two seeds
    assert (automargin["batches"], automargin["empty"]) == (10 * epochs * trials, 4 * trials)
    assert automargin["first_empty"] == 0.4
    assert automargin["without_margin"] == automargin["empty"]
    assert automargin["empty_share"] == pytest.approx(0.4 / epochs)
    assert automargin["active_share"] == pytest.approx(0.5)


def test_more_than_two_percent_of_empty_batches_are_warned_of_with_the_reason(out: Path) -> None:
    change_epochs(out, Q1, batches=100, empty_batches=100, epsilon=0.0, active_share=0.0)
    change_epochs(out, AUTOMARGIN, batches=100, empty_batches=2, epsilon=0.3)
    (caution,) = empty_batches_caution(read_results(out))
    assert "Triplet + Q1 (100 %)" in caution
    assert "ε = 0" in caution
    assert "AutoMargin" not in caution
    assert caution in cautions(read_results(out))
    change_epochs(out, AUTOMARGIN, empty_batches=3)
    _, other = empty_batches_caution(read_results(out))
    assert other.endswith("Triplet + AutoMargin (3 %).")


def test_the_table_says_how_margins_began(out: Path) -> None:
    change_epochs(out, AUTOMARGIN, first={"epsilon": 0.03})
    change(out, f"{AUTOMARGIN}.*", lambda content: content["config"].update(margins={"initial": "measured"}))
    rows = {row["arm"].label: row for row in triplet_terms_table(read_results(out)).rows}
    assert rows["Triplet + AutoMargin"]["initial"] == "measured"
    assert rows["Triplet + AutoMargin"]["epsilon"] == pytest.approx(0.03)
    assert rows["Triplet + Q1"]["initial"] == "given"


def test_the_mean_of_different_fixed_margins_is_left_out(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", folds=2, replicates=2, arms=(GRID,))
    change_epochs(out, GRID, epsilon=0.2)
    assert triplet_terms_table(read_results(out)).rows[0]["epsilon"] == pytest.approx(0.2)
    change(out, f"{GRID}.c00.*", lambda content: [row.update(epsilon=0.1) for row in content["history"]])
    assert triplet_terms_table(read_results(out)).rows[0]["epsilon"] is None


def test_a_loss_without_triplets_has_no_row_and_no_warning(out: Path) -> None:
    change_epochs(out, Q1, active_share=math.nan)
    results = read_results(out)
    assert [row["arm"].label for row in triplet_terms_table(results).rows] == ["Triplet + AutoMargin"]
    assert empty_batches_caution(results) == []


def test_every_model_of_a_fold_ensemble_counts(out: Path) -> None:
    path = out / "records" / "triplet_q1.c00.seed0.json"
    content = read_json(path)
    member = {"seed": 1, "kept_epoch": 1, "validation": None, "history": content["history"][:2]}
    write_json(path, content | {"members": [member | {"fold": fold} for fold in range(3)]})
    q1 = triplet_terms(read_results(out))[0]
    rows = 3 * len(content["history"]) + 3 * 2  # two folds and another seed of one model each, and three members
    assert q1["batches"] == 12 * rows
