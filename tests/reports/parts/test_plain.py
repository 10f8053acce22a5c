"""The answer of a comparison in one plain sentence: what it says of a difference, of tests, and of a search's cost."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fmim_core.metric_names import Metric
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.plain import plain_sentence, plain_sentences
from fmim_reports.reading.results import read_results
from tests.support.declared import make_declared_out
from tests.support.factories import make_out
from tests.support.file_contents import edit, spoil
from tests.support.out_folders import edit_cost, record, set_differences
from tests.support.query_files import write_query_files

PAIR = ("triplet_automargin.c00", "triplet_grid.c02")
ARMS = [name.partition(".")[0] for name in PAIR]
COST = ", for 1/2 of the search cost (epochs)."


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """One comparison: AutoMargin, N_s = 2, with a grid search, N_s = 4; +0.50 percentage points over five seeds."""
    return make_out(tmp_path / "out", arms=ARMS)


def said(out: Path) -> str:
    (sentence,) = plain_sentences(read_results(out))
    return sentence


@pytest.mark.parametrize(
    ("differences", "sentence"),
    [
        (
            [-0.05, -0.06, -0.05, -0.06, -0.05],
            "scored 5.4 percentage points lower than grid search in mAP (95 % CI −6.1 to −4.7), which is shown to be "
            "worse",
        ),
        (
            [0.05, 0.06, 0.05, 0.06, 0.05],
            "scored 5.4 percentage points higher than grid search in mAP (95 % CI +4.7 to +6.1), which is shown to be "
            "better",
        ),
        (
            [0.001, -0.001, 0.0, 0.001, -0.001],
            "scored the same as grid search in mAP (95 % CI −0.1 to +0.1), which is equivalent within ±1 percentage "
            "point",
        ),
        (
            [0.003, 0.004, 0.003, 0.004, 0.003],
            "scored 0.3 percentage points higher than grid search in mAP (95 % CI +0.3 to +0.4), which is equivalent "
            "within ±1 percentage point, though a difference is shown",
        ),
        (
            [0.1, -0.1, 0.0, 0.1, -0.1],
            "scored the same as grid search in mAP (95 % CI −12.4 to +12.4), so neither a difference nor equivalence "
            "is shown",
        ),
        (
            [0.1] * 5,
            "scored 10.0 percentage points higher than grid search in mAP, equally with every seed, so nothing can be "
            "tested",
        ),
        ([0.1, math.nan], ""),
    ],
)
def test_the_difference_its_interval_and_what_the_tests_show(
    out: Path, differences: Sequence[float], sentence: str
) -> None:
    set_differences(out, PAIR, differences)
    if sentence:
        assert said(out) == f"Triplet: AutoMargin {sentence}{COST}"
    else:
        assert said(out) == (
            "Triplet: AutoMargin against grid search: no answer, since the mAP of a seed is not a number."
        )


def test_a_difference_that_holms_correction_takes_away_is_not_claimed(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=[*ARMS, "adatriplet_automargin", "adatriplet_grid"])
    values = [0.012, 0.001, 0.010, 0.016, 0.004]
    set_differences(out, PAIR, values)
    set_differences(out, ("adatriplet_automargin.c00", "adatriplet_grid.c10"), values)
    first, second = plain_sentences(read_results(out))
    shown = "so neither a difference, corrected for 2 comparisons, nor equivalence is shown"
    assert f"(95 % CI +0.1 to +1.6), {shown}" in first
    assert second.startswith("AdaTriplet: AutoMargin scored 0.9 percentage points higher")
    assert second.endswith(", for 1/4 of the search cost (epochs).")
    edit(out / "study.json", comparisons=[ARMS])
    assert "which is shown to be better" in said(out)  # alone, it has nothing to be corrected for


def test_the_interval_is_the_one_over_seeds_and_subjects_where_queries_are_known(out: Path) -> None:
    set_differences(out, PAIR, [0.03, 0.031, 0.029, 0.03, 0.0305])
    assert "scored 3.0 percentage points higher than grid search in mAP (95 % CI +2.9 to +3.1)" in said(out)
    write_query_files(out)
    (one,) = comparisons(read_results(out))
    assert one.crossed is not None
    assert (one.uncertainty.low, one.uncertainty.high) == pytest.approx((0.0201, 0.0401), abs=1e-5)
    assert "scored 3.0 percentage points higher than grid search in mAP (95 % CI +2.0 to +4.0)" in said(out)


def test_what_is_missing_is_said(tmp_path: Path, out: Path) -> None:
    spoil(record(out, "triplet_grid.c02.seed4"), "failed")
    assert said(out).startswith("Triplet: AutoMargin scored 1.3 percentage points higher than grid search in mAP (95 ")
    assert ", 4 of 5 seeds), so neither" in said(out)
    for seed in range(4):
        spoil(record(out, f"triplet_grid.c02.seed{seed}"), "diverged")
    assert said(out) == "Triplet: AutoMargin against grid search: no answer yet, since no seed is completed by both."
    one_seed = make_out(tmp_path / "one", replicates=1, arms=ARMS)
    assert said(one_seed) == (
        "Triplet: AutoMargin scored 3.5 percentage points higher than grid search in mAP, with one seed, so nothing "
        f"can be tested{COST}"
    )


def test_search_costs_are_exact_and_readable(out: Path) -> None:
    def after(epochs: int, more: int) -> str:
        """Of one trial of AutoMargin's six, and of one of the grid's twelve; the others took 6 epochs each."""
        edit_cost(record(out, "triplet_automargin.c00.fold0"), epochs=epochs)
        edit_cost(record(out, "triplet_grid.c00.fold0"), epochs=more)
        return said(out).rpartition(", for ")[2]

    assert after(6, 6) == "1/2 of the search cost (epochs)."
    assert after(42, 6) == "the same search cost (epochs)."
    assert after(114, 6) == "2 times the search cost (epochs)."
    assert after(78, 6) == "1.5 times the search cost (epochs)."
    assert after(7, 6) == "51 % of the search cost (epochs)."
    assert after(6, 6000) == "0.6 % of the search cost (epochs)."
    record(out, "triplet_grid.c00.fold0").unlink()
    for fold in (1, 2):
        record(out, f"triplet_grid.c00.fold{fold}").unlink()
    assert said(out).endswith("for 2/3 of the search cost (epochs; not finished).")


def test_arms_without_a_search_have_no_search_cost(tmp_path: Path) -> None:
    out = make_declared_out(tmp_path / "out", "baselines", lambda arm, _: 0.7 + len(arm) / 100, replicates=3)
    sentences = plain_sentences(read_results(out))
    assert len(sentences) == len(read_results(out).comparisons) > 0
    assert not any("search" in sentence for sentence in sentences)


def test_another_task_is_no_effect_of_training(out: Path) -> None:
    for seed in range(5):
        path = record(out, f"triplet_automargin.c00.seed{seed}")
        metrics = json.loads(path.read_text())["metrics"]
        edit(path, metrics={**metrics, "test": {**metrics["test"], "chance_mAP": 0.1}})
    assert "), on a task of another difficulty, so this says nothing about the training, for 1/2" in said(out)


def test_lower_is_better_where_the_metric_says_so(out: Path) -> None:
    set_differences(out, PAIR, [-0.05, -0.06, -0.05, -0.06, -0.05])
    (one,) = comparisons(read_results(out))
    error = replace(one, metric=Metric("error", "error rate", higher_is_better=False))
    assert plain_sentence(error) == (
        "Triplet: AutoMargin scored 5.4 percentage points lower than grid search in error rate (lower is better, 95 % "
        "CI −6.1 to −4.7), which is shown to be better, for 1/2 of the search cost (epochs)."
    )


def test_arms_of_different_groups_have_their_whole_names(out: Path) -> None:
    edit(out / "study.json", comparisons=[])
    assert plain_sentences(read_results(out)) == ()
    study = json.loads((out / "study.json").read_text())
    arms = [arm | {"group": arm["name"], "label": f"arm {number}"} for number, arm in enumerate(study["arms"])]
    edit(out / "study.json", arms=arms, comparisons=[ARMS[::-1]])  # the grid search, arm 1
    assert said(out).startswith("Arm 1 scored 0.5 percentage points lower than arm 0 in mAP (95 % CI −3.7 to +2.7), ")
    assert said(out).endswith(", for 2 times the search cost (epochs).")
