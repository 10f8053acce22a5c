"""The verdict on comparisons: by which interval, with which correction, and with which costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_core.metric_names import METRICS
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.table import paired_table
from fmim_reports.parts.verdict import verdict_of_comparisons
from fmim_reports.reading.results import read_results
from fmim_reports.stats import crossed_difference, equivalence, holm, paired_difference
from tests.support.factories import make_out
from tests.support.file_contents import edit
from tests.support.out_folders import edit_cost, record, set_differences
from tests.support.query_files import write_query_files
from tests.support.replicate_studies import rows

PAIRS = (("triplet_automargin.c00", "triplet_grid.c02"), ("adatriplet_automargin.c00", "adatriplet_grid.c10"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A finished study of the arms that are compared."""
    return make_out(tmp_path / "out", arms=[name.partition(".")[0] for pair in PAIRS for name in pair])


def test_the_verdict_goes_by_the_interval_over_seeds_and_subjects_where_queries_are_known(out: Path) -> None:
    write_query_files(out)
    results = read_results(out)
    (one, _), queries = comparisons(results), results.queries
    a, b = (queries.values(arm, METRICS["mAP"]) for arm in ("triplet_automargin", "triplet_grid"))
    expected = crossed_difference(a, b, queries.subjects)
    row = rows(paired_table(results))[0]
    assert float(row["difference"]) == pytest.approx(expected.mean)
    ses = [float(row[f"se_{over}"]) for over in ("seeds", "subjects", "both")]
    assert ses == pytest.approx([expected.over_seeds.se, expected.over_subjects.se, expected.over_both.se])
    both = (expected.over_both.low, expected.over_both.high)
    assert (float(row["low"]), float(row["high"])) == pytest.approx(both)
    assert (row["over"], row["subjects"], row["n"]) == ("seeds and subjects", "40", "5")
    assert float(row["p"]) == pytest.approx(expected.over_both.p(expected.mean))
    assert float(row["p_equivalence"]) == pytest.approx(expected.over_both.equivalence_p(expected.mean, 0.01))
    assert one.variances == expected.variances
    said = verdict_of_comparisons(results)
    facts = dict(said.details[0][1])
    assert facts["Mean difference"].startswith("AutoMargin minus grid search is +0.50 percentage points, 95 % CI −")
    assert "over seeds and subjects (n = 5 seeds × 40 subjects)" in facts["Mean difference"]
    assert "With 5 seeds and this variation over seeds and subjects" in facts["Power"]


def test_without_the_queries_of_a_seed_it_goes_by_the_one_over_seeds_and_says_so(out: Path) -> None:
    write_query_files(out)
    edit(record(out, "triplet_grid.c02.seed3"), queries_sha256=None)
    (first, second) = rows(paired_table(read_results(out)))
    assert (first["over"], first["se_both"]) == ("seeds", "")
    assert second["over"] == "seeds and subjects"
    facts = dict(verdict_of_comparisons(read_results(out)).details[0][1])
    assert facts["Standard error"] == "1.14 percentage points over seeds; not known over subjects."


def test_the_sentence_goes_by_holm_over_the_differences_and_over_the_equivalences(out: Path) -> None:
    clear, near = [0.030, 0.034, 0.036, 0.040, 0.035], [0.0, 0.03, 0.05, 0.01, 0.03]
    set_differences(out, PAIRS[0], clear)
    set_differences(out, PAIRS[1], near)
    none = [0.0] * 5
    raw = [paired_difference(values, none).p for values in (clear, near)]
    assert max(p or 1 for p in raw) < 0.06
    table = rows(paired_table(read_results(out)))
    assert [float(row["p"]) for row in table] == pytest.approx(raw)
    assert [float(row["p_holm"]) for row in table] == pytest.approx(holm(raw).adjusted)
    tost = [equivalence(values, none, 0.01).p for values in (clear, near)]
    assert [float(row["p_equivalence"]) for row in table] == pytest.approx(tost)
    assert [float(row["p_equivalence_holm"]) for row in table] == pytest.approx(holm(tost).adjusted)


def test_a_difference_that_the_correction_takes_away_is_not_claimed(out: Path) -> None:
    values = [0.012, 0.001, 0.010, 0.016, 0.004]
    assert 0.02 < (paired_difference(values, [0.0] * 5).p or 1) < 0.05
    for pair in PAIRS:
        set_differences(out, pair, values)
    said = verdict_of_comparisons(read_results(out))
    assert "so neither a difference, corrected for 2 comparisons, nor equivalence is shown" in said.findings[0]
    shown = dict(said.details[0][1])["Test of the difference"]
    assert "by Holm over 2): the interval excludes 0, but not once it is corrected for all comparisons" in shown
    edit(out / "study.json", comparisons=[["triplet_automargin", "triplet_grid"]])
    said = verdict_of_comparisons(read_results(out))
    assert "which is shown to be better" in said.findings[0]
    shown = dict(said.details[0][1])["Test of the difference"]
    assert shown.endswith("AutoMargin is better for other seeds, on this test set, with these configurations.")
    assert "by Holm" not in shown  # alone in its family


def test_a_ratio_of_device_seconds_stands_with_its_interval_beside_that_of_epochs(out: Path) -> None:
    for fold in range(3):
        edit_cost(record(out, f"triplet_grid.c00.fold{fold}"), train_s=10.0 + fold)
    results = read_results(out)
    (one, _), said = comparisons(results), verdict_of_comparisons(results)
    assert one.seconds.low is not None
    assert one.seconds.high is not None
    assert one.seconds.value is not None
    ratio, low, high = (f"{value:.2f}" for value in (one.seconds.value, one.seconds.low, one.seconds.high))
    cost = dict(said.details[0][1])["Search cost"]
    assert "grid search took 2.00 times the epochs of AutoMargin (72 against 36) and" in cost
    assert cost.endswith(f"{ratio} times its device-seconds (95 % CI {low} to {high}).")


def test_where_subjects_alone_leave_too_much_no_number_of_seeds_is_enough(out: Path) -> None:
    write_query_files(out)
    edit(out / "study.json", equivalence_margin=0.0005)
    power = dict(verdict_of_comparisons(read_results(out)).details[0][1])["Power"]
    assert "for 80 % no number of seeds is enough" in power or "no number of seeds is enough for 80 %" in power
    assert "since these subjects alone leave an SE of" in power
