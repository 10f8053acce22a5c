"""The sentence with which a report begins: what it joins, what it counts, and what it does not claim."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from fmim_core.metric_names import Metric
from fmim_reports.build import build_report, status_lines
from fmim_reports.parts.arms import answer_table
from fmim_reports.parts.comparisons import answer
from fmim_reports.parts.comparisons.answer import MOST_WORDS, answer_sentence
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.picture import differences_plot
from fmim_reports.parts.comparisons.words import share_text
from fmim_reports.reading.results import read_results
from tests.support.factories import make_out
from tests.support.file_contents import edit, record, set_differences

SAME, BETTER, WORSE = [0.001, -0.001, 0.0, 0.001, -0.001], [0.05, 0.06, 0.05, 0.06, 0.05], [-0.02, -0.021] * 2 + [-0.02]
TRIPLET = ("triplet_automargin.c00", "triplet_grid.c02")
ADATRIPLET = ("adatriplet_automargin.c00", "adatriplet_grid.c10")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """AutoMargin, with half and a quarter of the epochs, with a grid search over each of two losses."""
    arms = [pair.partition(".")[0] for pair in (*TRIPLET, *ADATRIPLET)]
    return make_out(tmp_path / "out", arms=arms)


def test_what_is_shown_alike_is_said_once(out: Path) -> None:
    set_differences(out, TRIPLET, SAME)
    set_differences(out, ADATRIPLET, SAME)
    assert answer_sentence(read_results(out)) == (
        "On these synthetic images, AutoMargin matches grid search with Triplet and AdaTriplet (within ±1 point), with "
        "1/4 to 1/2 of the search epochs."
    )
    set_differences(out, TRIPLET, WORSE)
    said = answer_sentence(read_results(out))
    assert "matches grid search with AdaTriplet (within ±1 point) and scores worse than it with Triplet (2.0" in said
    assert [row["relative"] for row in answer_table(read_results(out)).rows if "relative" in row] == ["1/2", "1/4"]


def test_a_range_of_costs_has_one_unit() -> None:
    assert share_text([Fraction(1, 35), Fraction(1, 4)]) == "2.9 % to 25 % of the search epochs"
    assert share_text([Fraction(1, 16), Fraction(1, 2)]) == "1/16 to 1/2 of the search epochs"
    assert share_text([Fraction(2), Fraction(4), Fraction(3)]) == "2 to 4 times the search epochs"


def test_it_is_what_the_arm_itself_is_compared_with(out: Path) -> None:
    (first, second) = comparisons(read_results(out))
    shown = [(first, "better", "A", "Y"), (first, "equivalent", "B", "X"), (second, "inconclusive", "A", "X")]
    parts = [answer._Part(word, (arm,), (other,), ("",), (one,)) for one, word, arm, other in shown]
    said = answer._in_words(parts, 9)
    assert "A beats Y" in said
    assert "and is inconclusive against X" in said


def test_more_words_than_a_reader_takes_in_are_counted(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_differences(out, TRIPLET, BETTER)
    set_differences(out, ADATRIPLET, SAME)
    assert len(answer_sentence(read_results(out)).split()) <= MOST_WORDS
    monkeypatch.setattr(answer, "MOST_WORDS", 5)
    assert "the 2 comparisons are: 1 better and 1 equivalent, with" in answer_sentence(read_results(out))


def test_an_unfinished_run_says_so_far_and_no_cost(out: Path) -> None:
    record(out, "triplet_automargin.c00.seed4").unlink()
    assert answer_sentence(read_results(out)).startswith("So far, on these synthetic images, ")
    record(out, "triplet_grid.c02.fold0").unlink()
    assert [line.partition(" completed")[0] for line in status_lines(read_results(out))] == [
        "77 of 78 search trials",
        "19 of 20 test replicates",
    ]  # that the mean of fewer folds is not the score of the selection goes without saying
    for path in (out / "records").glob("triplet_grid.c01.*"):
        path.unlink()
    assert "search epochs" not in answer_sentence(read_results(out))
    for path in (out / "records").glob("*.seed*"):
        path.unlink()
    assert "cannot be compared yet with grid search" in answer_sentence(read_results(out))
    assert "figure not drawn" in build_report(out).read_text("utf-8")


def test_a_direction_is_that_of_the_metric(out: Path) -> None:
    set_differences(out, TRIPLET, BETTER)
    (one, _) = comparisons(read_results(out))
    lower = replace(one, metric=Metric("error", "error rate", higher_is_better=False))
    (part,) = answer._parts([lower])
    assert (part.shown, answer._sizes(part)) == ("worse", "5.4 points higher error rate")


def test_without_comparisons_the_best_arm_is_named_and_without_an_answer_none(out: Path) -> None:
    edit(out / "study.json", comparisons=[])
    said = answer_sentence(read_results(out))
    assert "AdaTriplet + AutoMargin has a test mAP of 75.50 ± 0.71 %, the best mean of 4 arms" in said
    edit(out / "study.json", answers=False)
    assert "no answer about methods" in answer_sentence(read_results(out))


def test_the_picture_has_a_row_for_each_difference(out: Path) -> None:
    set_differences(out, TRIPLET, BETTER)
    plot = differences_plot(read_results(out))
    assert "Triplet: AutoMargin against grid search: +5.40 [+4.72, +6.08], better" in plot.alt
    assert plot.leads
