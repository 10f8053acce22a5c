"""Empty batches and the active share of an arm's triplet term, and whom the report warns of."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from fmim_core.records import read_json, write_json
from fmim_reports.parts.training.learning import empty_batches_caution, triplet_terms, triplet_terms_table
from fmim_reports.parts.verdict import cautions
from fmim_reports.reading.results import read_results
from tests.support.factories import make_out

ARMS = ("triplet_q1", "triplet_automargin")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Two arms, 2 folds and 2 seeds; nothing is empty."""
    return make_out(tmp_path / "out", folds=2, replicates=2, arms=ARMS)


def change(out: Path, arm: str, **epochs: dict[str, Any]) -> None:
    """Change rows of the history of all records of an arm: first=…, every=…"""
    for path in (out / "records").glob(f"{arm}.*.json"):
        content = read_json(path)
        for row in content["history"]:
            row |= epochs.get("every", {}) | (epochs.get("first", {}) if row["epoch"] == 1 else {})
        write_json(path, content)


def test_batches_are_counted_over_search_and_replicates(out: Path) -> None:
    change(out, "triplet_automargin", every={"batches": 10}, first={"empty_batches": 4, "epsilon": 0.0})
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
    change(out, "triplet_q1", every={"batches": 100, "empty_batches": 100, "epsilon": 0.0, "active_share": 0.0})
    change(out, "triplet_automargin", every={"batches": 100, "empty_batches": 2, "epsilon": 0.3})
    (caution,) = empty_batches_caution(read_results(out))
    assert caution == (
        "The triplet term was empty, with no active triplet to learn from: Triplet + Q1 in 100 % of its batches "
        "(always where its schedule had set ε = 0, under which semi-hard selection, 0 < Δ ≤ ε, selects nothing)."
    )
    assert caution in cautions(read_results(out))
    change(out, "triplet_automargin", every={"empty_batches": 3})
    (caution,) = empty_batches_caution(read_results(out))
    assert caution.endswith("selects nothing); Triplet + AutoMargin in 3 % of its batches.")


def test_the_table_says_how_margins_began(out: Path) -> None:
    change(out, "triplet_automargin", first={"epsilon": 0.03})
    for path in (out / "records").glob("triplet_automargin.*.json"):
        content = read_json(path)
        write_json(path, content | {"config": content["config"] | {"margins": {"initial": "measured"}}})
    rows = {row["arm"].label: row for row in triplet_terms_table(read_results(out)).rows}
    assert rows["Triplet + AutoMargin"]["initial"] == "measured"
    assert rows["Triplet + AutoMargin"]["epsilon"] == pytest.approx(0.03)
    assert rows["Triplet + Q1"]["initial"] == "given"


def test_a_loss_without_triplets_has_no_row_and_no_warning(out: Path) -> None:
    change(out, "triplet_q1", every={"active_share": math.nan})
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
