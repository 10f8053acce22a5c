"""What a report says of the searches on other splits, on a folder whose numbers are known."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from scipy.stats import ttest_rel

from fmim_reports.parts.comparisons.answer import answer_sentence
from fmim_reports.parts.comparisons.cautions import scope_caution
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.pipelines import headlines, pipelines, whole_pipelines
from fmim_reports.parts.comparisons.words import plain_sentences
from fmim_reports.parts.pipelines import (
    pipelines_plot,
    pipelines_table,
    winner_of_each_split_table,
    winners_table,
)
from fmim_reports.parts.verdict import verdict_of_comparisons
from fmim_reports.reading.results import read_results
from fmim_reports.stats import paired_difference, superiority
from fmim_reports.studies import contents_of
from tests.support.factories import best, configurations, make_out
from tests.support.file_contents import edit, metrics_of, record_content, selection_content, spoil, write
from tests.support.query_files import write_query_files
from tests.support.reports import assert_drawn, rows

ARMS = ("triplet_automargin", "triplet_grid")
ENDS = {1: 0.60, 2: 0.71}
"""The test mAP of the grid's winner on splits 1 and 2, where it is another than the study's."""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Two arms on three splits; the grid selects its first configuration on the others, AutoMargin always its own."""
    return split_out(tmp_path / "out", ENDS)


def split_out(out: Path, ends: Mapping[int, float]) -> Path:
    """The same with other splits that end in these test values of the grid."""
    make_out(out, arms=ARMS)
    edit(out / "study.json", search_splits=1 + len(ends))
    selected = json.loads((out / "selection.json").read_text())
    others = {arm: selection_content(_winner(arm), configurations(arm).index(_winner(arm)), 0.8) for arm in ARMS}
    write(out / "selection.json", selected | {"other_splits": {str(split): others for split in ends}})
    for split in ends:
        for arm in ARMS:
            for number, fold in product(range(len(configurations(arm))), range(3)):
                value = 0.5 + 0.1 * number + 0.05 * split + 0.02 * (number == split)
                _write(out, arm, number, f"fold{fold}", split, value)
        _write(out, "triplet_grid", 0, f"seed{split}", split, ends[split])
    return out


def _winner(arm: str) -> Mapping[str, float]:
    return configurations(arm)[0] if arm == "triplet_grid" else best(arm)


def _write(out: Path, arm: str, number: int, unit: str, split: int, value: float) -> None:
    """Write the record of a configuration on `fold0` or of `seed1`, on a search split."""
    name, stage = f"{arm}.c{number:02d}.split{split}.{unit}", "search" if unit.startswith("fold") else "replicate"
    of, measured = {"trial": name, "search_split": split}, metrics_of(value, 0.1)
    record = record_content(arm, configurations(arm)[number], number, stage, int(unit[-1]), measured, **of)
    write(out / "records" / f"{name}.json", record)


def test_a_pipeline_is_the_studys_own_replicate_or_the_trial_that_ends_its_split(out: Path) -> None:
    results = read_results(out)
    assert results.problems == ()
    grid, auto = (pipelines(results)[arm] for arm in ("triplet_grid", "triplet_automargin"))
    assert dict(grid.values) == {0: grid.own[0], **ENDS}
    assert dict(auto.values) == {split: auto.own[split] for split in range(3)}
    assert (len(grid.own), len(auto.own)) == (5, 5)  # the means of the study have nothing of other splits in them


def test_differences_are_those_of_the_pipelines_beside_those_of_the_winners(out: Path) -> None:
    results = read_results(out)
    grid, auto = (pipelines(results)[arm] for arm in ("triplet_grid", "triplet_automargin"))
    fixed, row = rows(pipelines_table(results))
    whole, wins = paired_difference(auto.values, grid.values), superiority(auto.values, grid.values)
    assert float(row["difference"]) == whole.difference
    assert [float(row[name]) for name in ("low", "high")] == [whole.low, whole.high]
    assert [float(row[name]) for name in ("probability", "p_low", "p_high")] == [wins.value, wins.low, wins.high]
    assert (fixed["n"], row["n"]) == ("5", "3")
    assert float(fixed["difference"]) == paired_difference(auto.own, grid.own).difference


def test_the_headline_is_about_whole_pipelines_from_five_splits_on(tmp_path: Path) -> None:
    ends = {1: 0.60, 2: 0.61, 3: 0.60, 4: 0.62}
    four = read_results(split_out(tmp_path / "four", dict(list(ends.items())[:3])))
    assert headlines(four) is comparisons(four)
    assert "whole pipelines" not in plain_sentences(four)[0]
    out = split_out(tmp_path / "five", ends)
    results = read_results(out)
    (one,), grid, auto = (
        headlines(results),
        pipelines(results)["triplet_grid"],
        pipelines(results)["triplet_automargin"],
    )
    by_hand = ttest_rel(*([values[split] for split in range(5)] for values in (auto.values, grid.values)))
    assert one.p == pytest.approx(by_hand.pvalue)
    assert (one.uncertainty.low, one.uncertainty.high) == pytest.approx(tuple(by_hand.confidence_interval()))
    (said,) = plain_sentences(results)
    assert ": better as whole pipelines" in said
    assert "whole pipelines" in scope_caution(results)[0]
    assert "AutoMargin beats grid search" in answer_sentence(results)
    assert "as whole pipelines" in answer_sentence(results)
    verdict = verdict_of_comparisons(results)
    assert [heading.rpartition(", ")[2] for heading, _ in verdict.details[:1]] == ["whole pipelines"]
    assert len(verdict.details) == 2
    assert "(n = 5 search splits)" in dict(verdict.details[0][1])["Mean difference"]
    assert not any("variance" in caution for caution in verdict.cautions)
    spoil(out / "records" / "triplet_grid.c00.split3.seed3.json", "diverged")
    assert headlines(read_results(out))[0].claim.name == "selected configurations"


def test_pipelines_are_paired_by_query_too(tmp_path: Path) -> None:
    out = split_out(tmp_path / "out", {1: 0.60, 2: 0.61, 3: 0.60, 4: 0.62})
    write_query_files(out)
    results = read_results(out)
    assert results.problems == ()
    (one,) = headlines(results)
    assert one.over == "search splits and subjects"
    assert one.crossed is not None
    assert (one.crossed.seeds, one.crossed.subjects) == (5, 40)
    assert one.crossed.mean == pytest.approx(one.paired.difference)  # each split's queries are those of its own trial


def test_holm_corrects_over_all_pipelines(out: Path) -> None:
    edit(out / "study.json", comparisons=[ARMS, ARMS[::-1]])
    first, second = whole_pipelines(read_results(out))
    assert first.p_holm == second.p_holm == pytest.approx(min(1.0, 2 * (first.p or math.nan)))


def test_winners_are_those_of_each_split(out: Path) -> None:
    results = read_results(out)
    won = [(row["arm_label"], row["wins"]) for row in rows(winners_table(results))]
    assert ("Triplet + AutoMargin", "3") in won
    assert ("Triplet + grid search", "2") in won
    each = [(row["arm"], row["search_split"]) for row in rows(winner_of_each_split_table(results))]
    assert each == [(arm, split) for arm in dict.fromkeys(arm for arm, _ in each) for split in ("0", "1", "2")]
    assert_drawn(pipelines_plot(results))


def test_without_other_splits_nothing_is_said_of_them(tmp_path: Path) -> None:
    results = read_results(make_out(tmp_path / "out", arms=ARMS))
    names = {part.name for parts in contents_of(results).parts(results).values() for part in parts}
    assert not names & {"pipelines_table", "winners_table", "pipelines_plot"}


def test_before_any_search_is_over_the_report_says_that_nothing_is_known(out: Path) -> None:
    write(out / "selection.json", {"schema": json.loads((out / "study.json").read_text())["schema"], "arms": {}})
    results = read_results(out)
    assert {row["n"] for row in rows(pipelines_table(results))} == {"0"}
