"""The answer of a comparison in one plain sentence and in its details: what they say of tests, power and costs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fmim_core.metric_names import Metric
from fmim_reports.parts.comparisons.cautions import comparison_cautions
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.tables import paired_table
from fmim_reports.parts.comparisons.words import comparison_details, plain_sentence, plain_sentences
from fmim_reports.reading.results import read_results
from tests.support.declared import make_declared_out
from tests.support.factories import make_out
from tests.support.file_contents import edit, edit_cost, record, set_differences, spoil
from tests.support.query_files import write_query_files
from tests.support.reports import rows

PAIR = ("triplet_automargin.c00", "triplet_grid.c02")
ARMS = [name.partition(".")[0] for name in PAIR]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """One comparison: AutoMargin, N_s = 2, with a grid search, N_s = 4; +0.50 percentage points over five seeds."""
    return make_out(tmp_path / "out", arms=ARMS)


def said(out: Path) -> str:
    (sentence,) = plain_sentences(read_results(out))
    return sentence


def facts(out: Path) -> dict[str, str]:
    return dict(comparison_details(comparisons(read_results(out))[0]))


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        (
            [-0.05, -0.06, -0.05, -0.06, -0.05],
            "5.4 points lower than grid search in mAP (95 % CI −6.1 to −4.7): worse, ",
        ),
        (
            [0.05, 0.06, 0.05, 0.06, 0.05],
            "5.4 points higher than grid search in mAP (95 % CI +4.7 to +6.1): better, ",
        ),
        (
            [0.001, -0.001, 0.0, 0.001, -0.001],
            "the same as grid search in mAP (95 % CI −0.1 to +0.1): equivalent within ±1 point, ",
        ),
        ([0.003, 0.004, 0.003, 0.004, 0.003], "±1 point, although a difference is shown"),
        (
            [0.1, -0.1, 0.0, 0.1, -0.1],
            "(95 % CI −12.4 to +12.4): inconclusive, ",
        ),
        (
            [0.1] * 5,
            "10.0 points higher than grid search in mAP: not tested, because it is the same with every seed",
        ),
        (
            [0.1, math.nan],
            "AutoMargin cannot be compared with grid search: the mAP of a seed is not a number",
        ),
    ],
)
def test_the_difference_its_interval_and_what_the_tests_show(
    out: Path, differences: Sequence[float], words: str
) -> None:
    set_differences(out, PAIR, differences)
    assert words in said(out)


def test_a_difference_that_holms_correction_takes_away_is_not_claimed(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=[*ARMS, "adatriplet_automargin", "adatriplet_grid"])
    values = [0.012, 0.001, 0.010, 0.016, 0.004]
    set_differences(out, PAIR, values)
    set_differences(out, ("adatriplet_automargin.c00", "adatriplet_grid.c10"), values)
    first, second = plain_sentences(read_results(out))
    assert "(95 % CI +0.1 to +1.6): inconclusive after correction for 2 comparisons" in first
    assert second.startswith("AdaTriplet: AutoMargin scored 0.9 points higher")
    assert second.endswith(", with 1/4 of the search epochs.")
    assert "by Holm over 2): the interval excludes 0" in facts(out)["Test of the difference"]
    edit(out / "study.json", comparisons=[ARMS])  # alone, it has nothing to be corrected for
    assert ": better" in said(out)
    assert "by Holm" not in facts(out)["Test of the difference"]


def test_claims_are_corrected_by_themselves(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=[*ARMS, "triplet_q2"])
    set_differences(out, PAIR, [0.012, 0.001, 0.010, 0.016, 0.004])
    edit(out / "study.json", comparisons=[ARMS], claims=[[ARMS[0], "triplet_q2"]])
    first, second = comparisons(read_results(out))
    assert (first.family, second.family) == (1, 1)
    assert (first.p_holm, second.p_holm) == (first.p, second.p)
    caution = next(line for line in comparison_cautions(read_results(out)) if "Holm" in line)
    assert "separately for the 1 differences of the question, 1 other differences and" in caution


def test_the_interval_is_the_one_over_seeds_and_subjects_where_queries_are_known(out: Path) -> None:
    set_differences(out, PAIR, [0.03, 0.031, 0.029, 0.03, 0.0305])
    assert "(95 % CI +2.9 to +3.1)" in said(out)
    write_query_files(out)
    (one,) = comparisons(read_results(out))
    assert (one.uncertainty.low, one.uncertainty.high) == pytest.approx((0.0201, 0.0401), abs=1e-5)
    assert "(95 % CI +2.0 to +4.0)" in said(out)
    assert (
        "over seeds and subjects (n = 5 seeds × 40 subjects; the variance of seeds is estimated as 0: the SE over"
        in facts(out)["Mean difference"]
    )
    assert "(variation over seeds and subjects)" in facts(out)["Power"]
    edit(out / "study.json", equivalence_margin=0.0005)
    assert facts(out)["Power"].endswith("more test subjects will.")


def test_what_is_missing_is_said(tmp_path: Path, out: Path) -> None:
    spoil(record(out, "triplet_grid.c02.seed4"), "failed")
    assert "scored 1.3 points higher" in said(out)
    assert ", 4 of 5 seeds): inconclusive" in said(out)
    for seed in range(4):
        spoil(record(out, f"triplet_grid.c02.seed{seed}"), "diverged")
    assert said(out).startswith(
        "Triplet: AutoMargin cannot be compared with grid search yet: no seed is completed by both. Diverged seeds "
        "scored at chance: +"
    )
    one_seed = make_out(tmp_path / "one", replicates=1, arms=ARMS)
    assert "3.5 points higher than grid search in mAP: not tested, because there is only one seed" in said(one_seed)


def test_a_diverged_seed_is_a_result_whose_bound_is_said(out: Path) -> None:
    spoil(record(out, "triplet_grid.c02.seed4"), "diverged")
    (one,) = comparisons(read_results(out))
    assert one.bound is not None
    four, chance = [one.a.test.values[seed] - one.b.test.values[seed] for seed in range(4)], one.chance
    assert one.bound.difference == pytest.approx((sum(four) + one.a.test.values[4] - chance) / 5)
    assert f"4 of 5 seeds, {100 * one.bound.difference:+.1f} with diverged seeds scored at chance)" in said(out)
    assert "a diverged seed is in no pair, which favours its arm: with it at chance" in facts(out)["Mean difference"]
    spoil(record(out, "triplet_automargin.c00.seed4"), "failed")
    (failed,) = comparisons(read_results(out))  # a failure of the machine is no result
    assert failed.bound is not None
    assert failed.bound.difference == pytest.approx(one.paired.difference)


def test_search_costs_are_exact_and_readable(out: Path) -> None:
    # of one trial of AutoMargin's six, and of one of the grid's twelve; the others took 6 epochs each
    for epochs, more, words in (
        (6, 6, "1/2 of the search epochs"),
        (42, 6, "the same number of search epochs"),
        (114, 6, "2 times the search epochs"),
        (78, 6, "1.5 times the search epochs"),
        (7, 6, "51 % of the search epochs"),
        (6, 6000, "0.6 % of the search epochs"),
    ):
        edit_cost(record(out, "triplet_automargin.c00.fold0"), epochs=epochs)
        edit_cost(record(out, "triplet_grid.c00.fold0"), epochs=more)
        assert said(out).endswith(f", with {words}.")
    for fold in range(3):
        record(out, f"triplet_grid.c00.fold{fold}").unlink()
    assert said(out).endswith(", with 2/3 of the search epochs (not finished).")


def test_a_ratio_of_device_seconds_stands_with_its_interval_beside_the_difference(out: Path) -> None:
    for fold in range(3):
        edit_cost(record(out, f"triplet_grid.c00.fold{fold}"), train_s=10.0 + fold)
    seconds = comparisons(read_results(out))[0].seconds
    assert seconds is not None
    assert seconds.value == pytest.approx(147 / 72)
    row = rows(paired_table(read_results(out)))[0]
    found = [float(row[name]) for name in ("seconds", "seconds_low", "seconds_high")]
    assert found == [seconds.value, seconds.low, seconds.high]


def test_arms_without_a_search_have_no_search_cost(tmp_path: Path) -> None:
    out = make_declared_out(tmp_path / "out", "baselines", lambda arm, _: 0.7 + len(arm) / 100, replicates=3)
    sentences = plain_sentences(read_results(out))
    assert len(sentences) == len(read_results(out).comparisons) > 0
    assert not any("search" in sentence for sentence in sentences)


def test_lower_is_better_where_the_metric_says_so(out: Path) -> None:
    set_differences(out, PAIR, [-0.05, -0.06, -0.05, -0.06, -0.05])
    (one,) = comparisons(read_results(out))
    error = plain_sentence(replace(one, metric=Metric("error", "error rate", higher_is_better=False)))
    assert "lower than grid search in error rate (lower is better, 95 % CI −6.1 to −4.7)" in error
    assert ": better" in error


def test_arms_of_different_groups_have_their_whole_names(out: Path) -> None:
    edit(out / "study.json", comparisons=[])
    assert plain_sentences(read_results(out)) == ()
    study = json.loads((out / "study.json").read_text())
    arms = [arm | {"group": arm["name"], "label": f"arm {number}"} for number, arm in enumerate(study["arms"])]
    edit(out / "study.json", arms=arms, comparisons=[ARMS[::-1]])  # the grid search, arm 1
    assert said(out).startswith("Arm 1 scored 0.5 points lower than arm 0 in mAP (95 % CI −3.7 to +2.7): ")
    assert said(out).endswith(", with 2 times the search epochs.")
