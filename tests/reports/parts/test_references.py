"""References in the report: rows, lines, the sentence on where arms stand, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_reports.build import status_lines
from fmim_reports.parts.arms import arms_table
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.costs import accounting_table, search_cost_table
from fmim_reports.parts.trials import failures_table
from fmim_reports.parts.verdict import verdict_of_comparisons
from fmim_reports.parts.years import by_year_table, year_plot
from fmim_reports.reading.results import read_results
from fmim_reports.reading.summary import on_reference
from fmim_reports.writing.captions import references_note, sentences_on_references
from fmim_reports.writing.markup import markdown
from tests.support.factories import SPACES, make_out
from tests.support.file_contents import NETWORK, PIXELS, add_references, edit, spoil
from tests.support.reports import bands, lines, panels, rows

TRIPLET = [arm for arm in SPACES if arm.startswith("triplet")]
BEATEN = {PIXELS: [0.3], NETWORK: [0.1, 0.2, 0.3]}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The five arms with the triplet loss."""
    return make_out(tmp_path / "out", arms=TRIPLET)


def test_rows_stand_below_the_arms_and_say_what_they_are(out: Path) -> None:
    results = read_results(add_references(out, BEATEN))
    pixels, network = rows(arms_table(results))[-2:]
    assert (pixels["arm_label"], network["arm_label"]) == ("Reference: Raw pixels", "Reference: Untrained network")
    assert (float(pixels["mAP_mean"]), pixels["mAP_se"], pixels["test_n"]) == (0.3, "", "1")
    assert float(network["mAP_mean"]) == pytest.approx(0.2)
    assert float(network["mAP_se"]) == pytest.approx(0.1 / 3**0.5)
    text = markdown(arms_table(results))
    assert "30.00 ± n/a (n = 1)" in text
    assert references_note(results) in text
    by_year = rows(by_year_table(results))[-1]
    assert float(by_year["year_4_mean"]) == pytest.approx(0.2 - 1 / 50)
    row = rows(arms_table(results))[-2]
    shown = {name: float(row[f"{name}_mean"]) for name in ("mAP", "CMC_1_all_shots")}
    assert shown == {name: on_reference(results, results.references[0], name).stat.mean for name in shown}
    assert rows(arms_table(results))[:-2] == rows(arms_table(read_results(add_references(out, {}))))


def test_nothing_is_compared_with_them_or_counted_to_a_search(out: Path) -> None:
    before = read_results(out)
    expected = comparisons(before), rows(search_cost_table(before))
    after = read_results(add_references(out, BEATEN))
    assert (comparisons(after), rows(search_cost_table(after))) == expected
    found = {(row["arm_label"], row["stage"]): row for row in rows(accounting_table(after))}
    assert (found["References", "reference"]["trials"], found["References", "reference"]["n_s"]) == ("4", "")
    assert int(found["All", "all"]["trials"]) == len(before.trials) + 4


def test_their_lines_by_year_are_thin_and_have_their_values(out: Path) -> None:
    (axes,) = panels(year_plot(read_results(add_references(out, BEATEN))))
    drawn = lines(axes)
    assert drawn["Raw pixels"][0] == pytest.approx(100 * (0.3 + 2 / 50))
    assert drawn["Untrained network"][4] == pytest.approx(100 * (0.2 - 5 / 50))
    assert {line.get_linewidth() for line in axes.lines if line.get_label() in ("Raw pixels",)} == {0.8}
    assert [bool(band) for band in bands(axes)] == [True] * 5 + [False, True]  # one value has no band


@pytest.mark.parametrize(
    ("values", "close", "beaten"),
    [
        ({}, [], []),
        (BEATEN, [], ["Raw pixels (30.0 %)", "Untrained network (20.0 %)"]),
        ({PIXELS: [0.5], NETWORK: [0.2]}, ["Raw pixels (50.0 %) as 1 of 5 arms"], ["Untrained network (20.0 %)"]),
        ({PIXELS: [0.37], NETWORK: [0.2]}, ["as 1 of 5 arms"], ["Untrained network"]),  # a tie
        (
            {PIXELS: [0.9], NETWORK: [0.8]},
            ["Raw pixels (90.0 %) as every arm", "Untrained network (80.0 %) as every"],
            [],
        ),
    ],
)
def test_a_sentence_says_where_the_arms_stand(
    out: Path, values: dict[str, list[float]], close: list[str], beaten: list[str]
) -> None:
    results = read_results(add_references(out, values))
    for parts, all_beaten in ((close, False), (beaten, True)):
        said = sentences_on_references(results, all_beaten)
        assert len(said) == bool(parts)
        assert [part for part in parts if part not in said[0]] == []
        assert set(said) <= set(verdict_of_comparisons(results).cautions)


def test_one_that_failed_or_is_missing_is_named_and_has_no_value(out: Path) -> None:
    add_references(out, BEATEN)
    spoil(out / "records" / f"{PIXELS}.c00.seed0.json", "failed", "no room")
    (out / "records" / f"{NETWORK}.c00.seed2.json").unlink()
    results = read_results(out)
    assert "2 of 4 reference trials completed: 1 failed, 1 missing." in status_lines(results)
    assert rows(arms_table(results))[-2]["test_n"] == "0"
    assert "Untrained network (15.0 %)" in sentences_on_references(results, beaten=True)[0]
    assert {(row["where"], row["reason"]) for row in rows(failures_table(results))} == {
        (f"{PIXELS}, –, seed 0", "RuntimeError: no room"),
        (f"{NETWORK}, –, seed 2", "no record: not run yet, or not readable"),
    }


def test_a_reference_that_is_not_planned_does_not_count(out: Path) -> None:
    add_references(out, BEATEN)
    edit(out / "study.json", references=[])
    reasons = {problem.where: problem.why for problem in read_results(out).problems}
    assert reasons[f"records/{PIXELS}.c00.seed0.json"] == f"not in the plan: reference '{PIXELS}', seed 0"
