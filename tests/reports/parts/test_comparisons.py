"""Declared comparisons: who is compared, by which interval and correction, and that labels decide nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fmim_core.metric_names import METRICS
from fmim_core.records import read_json
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.margins import WIDEST, equivalence_margins_plot
from fmim_reports.parts.comparisons.tables import paired_table
from fmim_reports.parts.comparisons.words import comparison_details, plain_sentences
from fmim_reports.reading.cost import compared_with
from fmim_reports.reading.results import read_results
from fmim_reports.stats import crossed_difference, equivalence, holm, paired_difference
from fmim_reports.studies import contents_of
from tests.support.declared import make_declared_out
from tests.support.factories import SEEDS, make_out
from tests.support.file_contents import FACTS, edit, record, set_differences
from tests.support.query_files import write_query_files
from tests.support.reports import figure_names, panels, rows, table, tables_alone

PAIRS = (("triplet_automargin.c00", "triplet_grid.c02"), ("adatriplet_automargin.c00", "adatriplet_grid.c10"))
NAMES = [tuple(name.partition(".")[0] for name in pair) for pair in PAIRS]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A finished study with the nine arms of `automargin_vs_grid`."""
    return make_out(tmp_path / "out")


def pairs(out: Path) -> list[tuple[str, str]]:
    return [(one.a.name, one.b.name) for one in comparisons(read_results(out))]


def test_the_declared_pairs_are_compared_in_their_order_by_the_studys_margin(out: Path) -> None:
    assert pairs(out) == NAMES
    assert {one.margin for one in comparisons(read_results(out))} == {0.01}
    edit(out / "study.json", comparisons=[["adatriplet_grid", "triplet_q1"]], equivalence_margin=0.05)
    (one,) = comparisons(read_results(out))
    # Grid arms have the same shift of a seed, so the difference is that of the levels for every seed.
    assert (one.a.name, one.b.name, one.margin) == ("adatriplet_grid", "triplet_q1", 0.05)
    assert one.value == pytest.approx(0.80 - 0.42)
    assert one.heading == "AdaTriplet + grid search against Triplet + Q1"  # of different groups


def test_the_interval_is_over_seeds_and_subjects_where_the_queries_of_every_seed_are_known(out: Path) -> None:
    write_query_files(out)
    results = read_results(out)
    queries, row = results.queries, rows(paired_table(results))[0]
    expected = crossed_difference(*(queries.values(arm, METRICS["mAP"]) for arm in NAMES[0]), queries.subjects)
    both = expected.over_both
    assert float(row["difference"]) == pytest.approx(expected.mean)
    ses = [float(row[f"se_{over}"]) for over in ("seeds", "subjects", "both")]
    assert ses == pytest.approx([expected.over_seeds.se, expected.over_subjects.se, both.se])
    assert (float(row["low"]), float(row["high"])) == pytest.approx((both.low, both.high))
    assert (row["over"], row["subjects"], row["n"]) == ("seeds and subjects", "40", "5")
    assert float(row["p"]) == pytest.approx(both.p(expected.mean))
    assert float(row["p_equivalence"]) == pytest.approx(both.equivalence_p(expected.mean, 0.01))
    assert comparisons(results)[0].variances == expected.variances
    edit(record(out, "triplet_grid.c02.seed3"), queries_sha256=None)
    first, second = rows(paired_table(read_results(out)))
    assert (first["over"], first["se_both"], second["over"]) == ("seeds", "", "seeds and subjects")


def test_p_values_are_corrected_by_holm_over_the_differences_and_over_the_equivalences(out: Path) -> None:
    clear, near, none = [0.030, 0.034, 0.036, 0.040, 0.035], [0.0, 0.03, 0.05, 0.01, 0.03], [0.0] * 5
    for pair, values in zip(PAIRS, (clear, near), strict=True):
        set_differences(out, pair, values)
    found = rows(paired_table(read_results(out)))
    tested = {"p": paired_difference, "p_equivalence": partial(equivalence, margin=0.01)}
    for key, test in tested.items():
        expected = [test(values, none).p for values in (clear, near)]
        assert [float(row[key]) for row in found] == pytest.approx(expected)
        assert [float(row[f"{key}_holm"]) for row in found] == pytest.approx(holm(expected).adjusted)
    edit(out / "study.json", comparisons=[*map(list, NAMES), ["adatriplet_automargin", "adatriplet_q1"]])
    raw, adjusted = ([float(row[key]) for row in rows(paired_table(read_results(out)))] for key in ("p", "p_holm"))
    assert min(adjusted) == pytest.approx(3 * min(raw))


def test_equivalence_by_margin_is_that_of_tests_with_each_margin(out: Path) -> None:
    shown = [0.004, -0.004, 0.002, -0.002, 0.001], [0.0, 0.03, 0.05, 0.01, 0.03]
    for pair, values in zip(PAIRS, shown, strict=True):
        set_differences(out, pair, values)
    results, none = read_results(out), [0.0] * 5
    (axes,) = panels(equivalence_margins_plot(results))
    ends = [line.get_xdata()[0] for line in axes.lines if line.get_marker() in ("o", ">")]
    assert ends == pytest.approx([min(100 * one.smallest_margin, WIDEST) for one in comparisons(results)])
    row = rows(paired_table(results))[0]
    least = float(row["smallest_margin"])
    assert holm([equivalence(values, none, least).p for values in shown]).adjusted[0] == pytest.approx(0.05)
    edit(out / "study.json", equivalence_margin=least + 1e-6)
    assert comparisons(read_results(out))[0].equivalent


def test_an_arm_scored_on_another_task_is_compared_and_not_tested(out: Path) -> None:
    for seed in range(len(SEEDS)):
        path = record(out, f"triplet_automargin.c00.seed{seed}")
        metrics = json.loads(path.read_text())["metrics"]
        edit(path, metrics={**metrics, "test": {**metrics["test"], "chance_mAP": 0.1}})
    found = paired_table(read_results(out))
    first, second = found.rows
    assert (first["p"], first["p_holm"], first["p_equivalence"]) == (None, None, None)
    assert first["difference"] == pytest.approx(0.005)
    assert second["p_holm"] == second["p"]  # alone in its family
    assert "AutoMargin (chance: 10.00 %)" in found.notes[1]
    assert ": not tested" in plain_sentences(read_results(out))[0]
    facts = dict(comparison_details(comparisons(read_results(out))[0]))
    assert (facts["Test of the difference"][:10], "Power" in facts) == ("Not tested", False)


def relabelled(out: Path) -> Path:
    """The same folder with other words for what was called grid search."""
    arms = json.dumps(read_json(out / "study.json")["arms"])
    renamed = arms.replace("Grid search", "Raster scan").replace("grid search", "raster scan")
    assert renamed.count("aster scan") == 2 * 2  # the label and the search of two arms
    return edit(out / "study.json", arms=json.loads(renamed)).parent


def test_renaming_a_label_changes_displayed_text_alone(tmp_path: Path) -> None:
    outs = make_out(tmp_path / "first"), relabelled(make_out(tmp_path / "second"))
    for out in outs:
        tables_alone(out)
    names, others = (sorted(path.name for path in (out / "report/tables").glob("*.csv")) for out in outs)
    assert names == others
    for name in names:
        expected, found = ((out / "report/tables" / name).read_text(encoding="utf-8") for out in outs)
        assert found == expected.replace("Grid search", "Raster scan").replace("grid search", "raster scan"), name
    results = [read_results(out) for out in outs]
    before, after = (contents_of(r).verdict(r) for r in results)
    assert len(after.findings) == len(after.details) == 2
    for said in ("findings", "cautions"):
        assert getattr(after, said) == tuple(s.replace("grid search", "raster scan") for s in getattr(before, said))
    figures = [figure_names(r) for r in results]
    assert figures[0] == figures[1] != []
    published = {row["arm"]: row["published_mAP_percent"] for row in table(outs[1], "test_metrics")}
    assert published["adatriplet_grid"] == "97.0"


def search_value(arm: str, configuration: Mapping[str, Any]) -> float:
    """Two arms of fixed quality, and searches whose best depends on how near a margin comes to 0.5."""
    fixed = {"automargin": 0.8, "automargin_k2": 0.79}
    off = sum(abs(value - 0.5) for value in configuration.values()) / 10
    return fixed.get(arm, 0.75 - off)


def test_both_automargin_arms_are_compared_with_all_four_searches(tmp_path: Path) -> None:
    out = make_declared_out(tmp_path / "out", "automargin_vs_search", search_value)
    tables_alone(out)
    found = {(row["a"], row["b"]): float(row["difference"]) for row in table(out, "paired_differences")}
    searches = ("grid", "random", "tpe", "asha")
    assert list(found) == [(arm, search) for arm in ("automargin", "automargin_k2") for search in searches]
    assert found["automargin_k2", "grid"] == pytest.approx(0.79 - 0.75)
    assert found["automargin_k2", "asha"] == pytest.approx(0.79 - (0.75 - 0.45 / 10 - 0.5 / 10))
    published = {row["arm"] for row in table(out, "automargin_vs_search") if row["published_mean"]}
    assert published == {"grid", "automargin"}


def test_the_loss_of_backbones_is_the_triplet_loss_and_the_backbone_their_group(tmp_path: Path) -> None:
    out = make_declared_out(tmp_path / "out", "backbones", lambda _, c: 0.7 + c.get("epsilon", 0.0) / 10)
    tables_alone(out)
    found, groups = table(out, "search_cost"), ["ResNet-18", "ResNet-50", "ConvNeXt-Tiny", "ViT-S/16"]
    assert {row["loss"] for row in found} == {"Triplet"}
    assert list(dict.fromkeys(row["group"] for row in found)) == groups
    declared = [(row["a_label"], row["b_label"]) for row in table(out, "paired_differences")]
    assert declared == [(f"{group} + AutoMargin", f"{group} + grid search") for group in groups]
    assert {float(row["seconds"]) for row in table(out, "paired_differences")} == {2.0}


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
    assert [[row["a"], row["b"]] for row in found] == declared
    shift = dict(enumerate(SEEDS[::-1]))
    expected = paired_difference(
        {seed: 0.785 + step for seed, step in shift.items()}, {seed: 0.63 + step for seed, step in enumerate(SEEDS)}
    )
    numbers = {name: float(found[1][name]) for name in ("difference", "low", "high", "g", "correlation")}
    assert numbers == pytest.approx({name: getattr(expected, name) for name in numbers})
    assert all(found[1][name] for name in ("p", "p_holm", "p_equivalence", "p_equivalence_holm"))
    power = table(out, "power")[1]
    assert power.pop("least_se") == ""  # subjects are not known
    assert all(power.values())
    headings = [heading for heading, _ in contents_of(read_results(out)).verdict(read_results(out)).details]
    assert headings == ["Triplet: grid search against Q2", "Triplet: AutoMargin against Q2"]
    assert {"map_by_year", "expected_best", "map_vs_search_cost"} <= {*figure_names(read_results(out))}
    tidy = table(out, "mine")
    assert len(tidy) == 3 * 4 * 6
    assert {row["setting"] for row in tidy if row["arm"] == "triplet_grid"} == {"ε = 0.5"}


def test_a_study_without_comparisons_shows_none(tmp_path: Path) -> None:
    out = own_study(make_out(tmp_path / "out", arms=["triplet_q2", "triplet_grid"]), comparisons=[])
    tables_alone(out)
    assert not (out / "report/tables/paired_differences.csv").exists()
    said = contents_of(read_results(out)).verdict(read_results(out))
    assert said.details == ()
    assert said.findings[1] == "Triplet + grid search (ε = 0.5): test mAP 73.00 ± 0.71 % (n = 5 seeds)."


def test_costs_are_compared_within_a_group_and_as_declared(out: Path) -> None:
    triplet = {a: b for a, b in compared_with(read_results(out)).items() if a.startswith("triplet")}
    assert triplet == {f"triplet_{arm}": "triplet_grid" for arm in ("q1", "q2", "wat", "automargin")}
    edit(out / "study.json", comparisons=[["adatriplet_grid", "triplet_grid"]])
    assert compared_with(read_results(out)) == {"adatriplet_grid": "triplet_grid"}


def test_a_search_that_screens_owes_its_other_folds_to_what_came_to_its_end(out: Path) -> None:
    arms = read_json(out / "study.json")["arms"]
    screening = {"searcher_facts": FACTS | {"screens": True}}
    edit(out / "study.json", arms=[arm | (screening if arm["name"] == "triplet_grid" else {}) for arm in arms])
    edit(record(out, "triplet_grid.c00.fold0"), status="stopped")
    for fold in (1, 2):
        record(out, f"triplet_grid.c00.fold{fold}").unlink()
    statuses = [trial.status for trial in read_results(out).of("triplet_grid", "search")]
    assert (statuses.count("missing"), len(statuses)) == (0, 1 + 3 * 3)
