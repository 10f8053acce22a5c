"""Declared comparisons: who is compared, with which correction, and that labels decide nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fmim_core.records import read_json, write_json
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.costs import compared_costs, ratios_table
from fmim_reports.parts.comparisons.table import paired_table
from fmim_reports.parts.verdict import verdict_of_comparisons
from fmim_reports.reading.results import read_results
from fmim_reports.stats import paired_difference
from fmim_reports.studies import contents_of
from tests.support.declared import make_declared_out
from tests.support.drawn import figure_names
from tests.support.factories import SEEDS, make_out
from tests.support.file_contents import FACTS, edit
from tests.support.out_folders import table, tables_alone
from tests.support.replicate_studies import rows


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A finished study with the nine arms of `automargin_vs_grid`."""
    return make_out(tmp_path / "out")


def pairs(out: Path) -> list[tuple[str, str]]:
    return [(one.a.name, one.b.name) for one in comparisons(read_results(out))]


def test_the_declared_pairs_are_compared_in_their_order(out: Path) -> None:
    assert pairs(out) == [("triplet_automargin", "triplet_grid"), ("adatriplet_automargin", "adatriplet_grid")]
    edit(out / "study.json", comparisons=[["adatriplet_grid", "triplet_q1"]])
    assert pairs(out) == [("adatriplet_grid", "triplet_q1")]
    (one,) = comparisons(read_results(out))
    # Grid arms have the same shift of a seed, so the difference is that of the levels for every seed.
    assert one.paired.difference == pytest.approx(0.80 - 0.42)
    assert one.heading == "AdaTriplet + grid search against Triplet + Q1"  # of different groups


def test_holm_is_over_all_comparisons(out: Path) -> None:
    study = read_json(out / "study.json")
    write_json(
        out / "study.json", study | {"comparisons": [*study["comparisons"], ["adatriplet_automargin", "adatriplet_q1"]]}
    )
    table = paired_table(read_results(out))
    assert [(row["a"].name, row["b"].name) for row in table.rows][2] == ("adatriplet_automargin", "adatriplet_q1")
    raw, adjusted = ([row[key] for row in table.rows] for key in ("p", "p_holm"))
    assert min(adjusted) == pytest.approx(3 * min(raw))  # Holm over all three


def test_the_margin_is_the_studys(out: Path) -> None:
    assert {one.margin for one in comparisons(read_results(out))} == {0.01}
    write_json(out / "study.json", read_json(out / "study.json") | {"equivalence_margin": 0.05})
    assert {one.margin for one in comparisons(read_results(out))} == {0.05}


def test_an_arm_scored_on_another_task_is_compared_and_not_tested(out: Path) -> None:
    for seed in range(len(SEEDS)):
        path = out / "records" / f"triplet_automargin.c00.seed{seed}.json"
        metrics = json.loads(path.read_text())["metrics"]
        edit(path, metrics={**metrics, "test": {**metrics["test"], "chance_mAP": 0.1}})
    table = paired_table(read_results(out))
    first, second = table.rows
    assert (first["p"], first["p_holm"], first["p_equivalence"]) == (None, None, None)
    assert first["difference"] == pytest.approx(0.005)
    assert second["p_holm"] == second["p"]  # alone in its family
    assert "scored on another task" in table.notes[1]
    said = verdict_of_comparisons(read_results(out))
    assert "on a task of another difficulty" in said.findings[0]
    assert dict(said.details[0][1])["Test of the difference"].startswith("Not tested")


def relabelled(out: Path) -> Path:
    """The same folder with other words for what was called grid search."""
    arms = json.dumps(read_json(out / "study.json")["arms"])
    renamed = arms.replace("Grid search", "Raster scan").replace("grid search", "raster scan")
    assert renamed.count("aster scan") == 2 * 2  # the label and the search of two arms
    return edit(out / "study.json", arms=json.loads(renamed)).parent


def test_renaming_a_label_changes_displayed_text_alone(tmp_path: Path) -> None:
    first, second = make_out(tmp_path / "first"), relabelled(make_out(tmp_path / "second"))
    tables_alone(first)
    tables_alone(second)
    names = sorted(path.name for path in (first / "report/tables").glob("*.csv"))
    assert names == sorted(path.name for path in (second / "report/tables").glob("*.csv"))
    for name in names:
        expected, found = ((out / "report/tables" / name).read_text(encoding="utf-8") for out in (first, second))
        assert found == expected.replace("Grid search", "Raster scan").replace("grid search", "raster scan"), name
    results = [read_results(out) for out in (first, second)]
    before, after = (contents_of(r).verdict(r) for r in results)
    assert len(after.findings) == 2
    assert after.findings == tuple(said.replace("grid search", "raster scan") for said in before.findings)
    assert "raster scan 73.00" in dict(after.details[0][1])["Test mAP"]
    assert after.cautions == tuple(said.replace("grid search", "raster scan") for said in before.cautions)
    assert len(after.details) == len(before.details) == 2
    figures = [figure_names(r) for r in results]
    assert figures[0]
    assert figures[0] == figures[1]
    assert table(second, "adatriplet_arms")[2]["published_mAP_percent"] == "97.0"


def search_value(arm: str, configuration: Mapping[str, Any]) -> float:
    """Two arms of fixed quality, and searches whose best depends on how near a margin comes to 0.5."""
    fixed = {"automargin": 0.8, "automargin_k2": 0.79}
    off = sum(abs(value - 0.5) for value in configuration.values()) / 10
    return fixed.get(arm, 0.75 - off)


def test_both_automargin_arms_are_compared_with_all_four_searches(tmp_path: Path) -> None:
    out = make_declared_out(tmp_path / "out", "automargin_vs_search", search_value)
    tables_alone(out)
    found = table(out, "paired_differences")
    searches = ("grid", "random", "tpe", "asha")
    assert [(row["a"], row["b"]) for row in found] == [
        (arm, search) for arm in ("automargin", "automargin_k2") for search in searches
    ]
    by_pair = {(row["a"], row["b"]): float(row["difference"]) for row in found}
    assert by_pair["automargin_k2", "grid"] == pytest.approx(0.79 - 0.75)
    assert by_pair["automargin_k2", "asha"] == pytest.approx(0.79 - (0.75 - 0.45 / 10 - 0.5 / 10))
    said = contents_of(read_results(out)).verdict(read_results(out))
    assert len(said.findings) == len(said.details) == 8
    assert said.findings[4].startswith("AdaTriplet: AutoMargin (K = 2) scored 4.0 percentage points higher than grid")
    published = {row["arm"] for row in table(out, "automargin_vs_search") if row["published_mean"]}
    assert published == {"grid", "automargin"}


def test_the_loss_of_backbones_is_the_triplet_loss_and_the_backbone_their_group(tmp_path: Path) -> None:
    out = make_declared_out(tmp_path / "out", "backbones", lambda _, c: 0.7 + c.get("epsilon", 0.0) / 10)
    tables_alone(out)
    found = table(out, "search_cost")
    assert {row["loss"] for row in found} == {"Triplet"}
    assert list(dict.fromkeys(row["group"] for row in found)) == ["ResNet-18", "ResNet-50", "ConvNeXt-Tiny", "ViT-S/16"]
    ratios = table(out, "cost_ratios")
    assert [(row["arm_label"], row["against_label"]) for row in ratios] == [
        (f"{group} + AutoMargin", f"{group} + grid search")
        for group in ("ResNet-18", "ResNet-50", "ConvNeXt-Tiny", "ViT-S/16")
    ]
    assert {float(row["n_s"]) for row in ratios} == {2.0}


def own_study(out: Path, **changes: Any) -> Path:
    """The arms as a study of a user's own, for which there is no file in `reports/fmim_reports/studies`."""
    edit(out / "study.json", study="mine", **changes)
    for path in (out / "records").iterdir():
        edit(path, study="mine")
    return out


def test_a_study_of_ones_own_with_a_baseline_has_the_whole_comparison(tmp_path: Path) -> None:
    arms = ["triplet_q2", "triplet_grid", "triplet_automargin"]
    declared = [["triplet_grid", "triplet_q2"], ["triplet_automargin", "triplet_q2"]]
    out = own_study(make_out(tmp_path / "out", arms=arms), baseline="triplet_q2", comparisons=declared)
    tables_alone(out)
    found = table(out, "paired_differences")
    assert [(row["a"], row["b"]) for row in found] == [
        ("triplet_grid", "triplet_q2"),
        ("triplet_automargin", "triplet_q2"),
    ]
    shift = dict(enumerate(SEEDS[::-1]))
    expected = paired_difference(
        {seed: 0.785 + step for seed, step in shift.items()}, {seed: 0.63 + step for seed, step in enumerate(SEEDS)}
    )
    row = found[1]
    assert float(row["difference"]) == pytest.approx(expected.difference)
    assert (float(row["low"]), float(row["high"])) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert all(row[name] for name in ("g", "correlation", "p", "p_holm", "p_equivalence", "p_equivalence_holm"))
    power = table(out, "power")[1]
    assert power.pop("least_se") == ""  # subjects are not known
    assert all(power.values())
    said = verdict_of_comparisons(read_results(out))
    assert said.findings[1].startswith("Triplet: AutoMargin scored 15.5 percentage points higher than Q2 in mAP")
    assert [heading for heading, _ in said.details] == [
        "Triplet: grid search against Q2",
        "Triplet: AutoMargin against Q2",
    ]
    assert {"map_by_year", "expected_best", "map_vs_search_cost"} <= {*figure_names(read_results(out))}
    tidy = table(out, "mine")
    assert len(tidy) == 3 * 4 * 6
    assert {row["setting"] for row in tidy if row["arm"] == "triplet_grid"} == {"ε = 0.5"}


def test_a_study_without_comparisons_shows_none(tmp_path: Path) -> None:
    out = own_study(make_out(tmp_path / "out", arms=["triplet_q2", "triplet_grid"]), comparisons=[])
    tables_alone(out)
    assert not (out / "report/tables/paired_differences.csv").exists()
    assert not (out / "report/tables/cost_ratios.csv").exists()
    said = verdict_of_comparisons(read_results(out))
    assert said.details == ()
    assert said.findings[1] == "Triplet + grid search (ε = 0.5): test mAP 73.00 ± 0.71 % (n = 5 seeds)."


def test_costs_are_compared_within_a_group_and_as_declared(out: Path) -> None:
    results = read_results(out)
    triplet = [pair for pair in compared_costs(results) if pair[0].startswith("triplet")]
    assert triplet == [(f"triplet_{arm}", "triplet_grid") for arm in ("q1", "q2", "wat", "automargin")]
    edit(out / "study.json", comparisons=[["adatriplet_grid", "triplet_grid"]])
    assert compared_costs(read_results(out)) == [("adatriplet_grid", "triplet_grid")]
    assert float(rows(ratios_table(read_results(out)))[0]["n_s"]) == 4 / 16


def test_a_search_that_screens_owes_its_other_folds_to_what_came_to_its_end(out: Path) -> None:
    study = read_json(out / "study.json")
    arms = [
        arm | ({"searcher_facts": FACTS | {"screens": True}} if arm["name"] == "triplet_grid" else {})
        for arm in study["arms"]
    ]
    edit(out / "study.json", arms=arms)
    edit(out / "records" / "triplet_grid.c00.fold0.json", status="stopped")
    for fold in (1, 2):
        (out / "records" / f"triplet_grid.c00.fold{fold}.json").unlink()
    results = read_results(out)
    assert [trial.status for trial in results.of("triplet_grid", "search")].count("missing") == 0
    assert len(results.of("triplet_grid", "search")) == 1 + 3 * 3
