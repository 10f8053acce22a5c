"""Would the answer change? Differences on the folds with one setting changed, and what a report then refuses to say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

import pytest

from fmim_core.records import VariationEntry
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.varied import change_with, optimism_table, variations_table
from fmim_reports.parts.comparisons.words import comparison_details, plain_sentences
from fmim_reports.parts.methods import methods
from fmim_reports.parts.verdict import verdict_of_comparisons
from fmim_reports.reading.cost import search_cost
from fmim_reports.reading.results import read_results
from tests.support.factories import make_out
from tests.support.file_contents import edit, metrics_of, record, record_content, set_differences, write
from tests.support.reports import rows

A, B = "triplet_automargin", "triplet_grid"
LONGER = VariationEntry(name="epochs_x3", setting="epochs", factor=3)
FASTER = VariationEntry(name="learning_rate_x2", setting="learning_rate", factor=2)
ANEW = VariationEntry(name="another_seed", setting="seed", factor=1)
SELECTED: Mapping[str, Sequence[float]] = {A: (0.70, 0.72, 0.71), B: (0.74, 0.73, 0.75)}
VARIED: Mapping[tuple[str, str], Sequence[float]] = {
    (A, LONGER.name): (0.80, 0.83, 0.81),
    (B, LONGER.name): (0.80, 0.79, 0.78),
    (A, FASTER.name): (0.60, 0.60, 0.60),
    (B, FASTER.name): (0.65, 0.62, 0.64),
    (A, ANEW.name): (0.69, 0.70, 0.69),
    (B, ANEW.name): (0.74, 0.72, 0.72),
}
RATE = {A: 0.004, B: 0.002}  # an arm may set the field itself


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A finished study whose two Triplet arms were trained longer, faster and anew, with these values by fold."""
    out = make_out(tmp_path / "out")
    study = json.loads((out / "study.json").read_text())
    entries = [one.model_dump() for one in (LONGER, FASTER, ANEW)]
    arms = [arm | ({"variations": entries} if arm["name"] in SELECTED else {}) for arm in study["arms"]]
    edit(out / "study.json", arms=arms, comparisons=[[A, B]])
    selected = json.loads((out / "selection.json").read_text())["arms"]
    for arm, values in SELECTED.items():
        number, configuration = selected[arm]["number"], selected[arm]["configuration"]
        for fold, value in enumerate(values):
            path = record(out, f"{arm}.c{number:02d}.fold{fold}")
            edit(path, metrics={"validation": metrics_of(value, 0.05), "test": None})
        for (name, variation), varied in VARIED.items():
            for fold, value in enumerate(varied if name == arm else ()):
                parts = (arm, configuration, number, "variation", fold, metrics_of(value, 0.05))
                config = {"epochs": 18, "learning_rate": RATE[arm]}
                content = record_content(*parts, variation=variation, config=config)
                write(out / "records" / f"{content['trial']}.json", content)
    return out


def expected_change(variation: VariationEntry, folds: Sequence[int] = (0, 1, 2)) -> float:
    """The mean over folds of the varied difference less the one as selected, one value after the other."""
    a, b = VARIED[A, variation.name], VARIED[B, variation.name]
    return fmean((a[f] - b[f]) - (SELECTED[A][f] - SELECTED[B][f]) for f in folds)


@pytest.mark.parametrize("variation", [LONGER, FASTER])
def test_a_change_is_the_mean_over_folds_of_two_differences(out: Path, variation: VariationEntry) -> None:
    found = change_with(read_results(out), A, B, variation)
    assert found.difference == pytest.approx(expected_change(variation), abs=1e-12)
    record(out, f"{A}.c00.{variation.name}.fold1").unlink()  # the fold is then left out of both differences
    less = change_with(read_results(out), A, B, variation)
    assert less.difference == pytest.approx(expected_change(variation, folds=(0, 2)), abs=1e-12)


def test_the_table_has_each_setting_and_the_search_costs_no_more(out: Path) -> None:
    edit(out / "study.json", claims=[["adatriplet_grid", B]])  # of an arm that is not varied: no row
    results = read_results(out)
    assert results.problems == ()
    found = rows(variations_table(results))
    assert [(row["setting"], row["n"]) for row in found] == [
        ("as selected", "3"),
        ("epochs = 18 (× 3)", "3"),
        ("learning_rate = 0.004 and 0.002 (× 2)", "3"),
        ("another seed", "3"),
    ]
    assert [float(row["difference"]) for row in found] == pytest.approx([-0.03, 0.07 / 3, -0.11 / 3, -0.1 / 3])
    expected = [expected_change(one) for one in (LONGER, FASTER, ANEW)]
    assert [float(row["change"]) for row in found[1:]] == pytest.approx(expected)
    assert search_cost(results, A).trials == len(results.of(A, "search")) == 6


def test_optimism_is_what_a_winner_loses_with_another_seed_on_the_same_folds(out: Path) -> None:
    *arms, mean = rows(optimism_table(read_results(out)))
    lost = {arm: [x - y for x, y in zip(SELECTED[arm], VARIED[arm, ANEW.name], strict=True)] for arm in SELECTED}
    assert {row["arm"]: float(row["optimism"]) for row in arms} == pytest.approx({a: fmean(v) for a, v in lost.items()})
    assert {row["arm"]: float(row["se"]) for row in arms} == pytest.approx(
        {arm: stdev(values) / 3**0.5 for arm, values in lost.items()}
    )
    each = [fmean(values) for values in lost.values()]
    assert (float(mean["optimism"]), float(mean["se"])) == pytest.approx((fmean(each), stdev(each) / 2**0.5))


@pytest.mark.parametrize("sign", [1, -1])
def test_no_difference_is_shown_while_longer_training_changes_it_whoever_leads(out: Path, sign: int) -> None:
    names = [f"{A}.c00", f"{B}.c02"]
    set_differences(out, (names[0], names[1]), [sign * value for value in (0.10, 0.11, 0.12, 0.10, 0.11)])
    (moving,) = comparisons(read_results(out))
    assert moving.p_holm is not None
    assert moving.p_holm < 0.05
    assert (moving.moves, moving.differs, moving.equivalent) == (True, False, False)
    assert "longer training changes it" in dict(comparison_details(moving))["Test of the difference"]
    edit(out / "study.json", equivalence_margin=0.2)
    (settled,) = comparisons(read_results(out))
    assert (settled.moves, settled.differs) == (False, True)


def test_a_preset_without_answers_has_none(out: Path) -> None:
    edit(out / "study.json", answers=False)
    results = read_results(out)
    verdict = verdict_of_comparisons(results)
    assert verdict.findings == plain_sentences(results)
    assert len(verdict.findings) == 1
    assert verdict.details == ()


def test_the_methods_say_what_was_varied_and_that_no_rank_chose_it(out: Path) -> None:
    said, rule = methods(read_results(out)).plain[-1], "were set by the time that they take and by the power"
    assert "on the folds with epochs × 3, learning_rate × 2 and another seed, one at a time" in said
    assert rule in said
    edit(out / "study.json", changed={"epochs": 9})
    assert rule not in methods(read_results(out)).plain[-1]
