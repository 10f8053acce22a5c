"""Reports of `lambda_sweep`, `margin_sensitivity`, `hyperparameter_selection` and `baselines`, with known values."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from fmim_reports.build import build_report, status_lines
from fmim_reports.drawing.axes import RULE
from fmim_reports.reading import published
from fmim_reports.reading.results import read_results
from fmim_reports.reading.summary import from_time
from fmim_reports.studies import baselines, contents_of, lambda_sweep, margin_sensitivity, training_dynamics
from tests.support.declared import make_declared_out
from tests.support.file_contents import YEARS, edit, spoil
from tests.support.query_files import with_queries
from tests.support.reports import lines, table, tables_alone

STUDIES = ("lambda_sweep", "margin_sensitivity", "hyperparameter_selection", "baselines")
COLUMNS = ["arm", "arm_label", "setting", "metric", "year", "on", "mean", "se", "n", "published_mean", "published_se"]
FOLD_SE, SEED_SE = 0.01 / math.sqrt(3), 0.0070710678
# 22 queries in year 6, 0.06 below all years, and 16 in year 8, 0.10 below.
APART = -(22 * 0.06 + 16 * 0.10) / 38
LOSSES = {"softtriple": 0.6, "arcface": 0.61, "sct": 0.7, "wat": 0.72, "contrastive": 0.9, "triplet": 0.8}


def value(arm: str, configuration: Mapping[str, Any]) -> float:
    """Validation mAP: best at λ = 0.5 and ε = 0.3, lower by a tenth of the distance; broken from ε = 1 on."""
    if arm in LOSSES:
        return LOSSES[arm]
    epsilon = configuration.get("epsilon", 0.3)
    if arm == "triplet_epsilon" and (epsilon >= 1 or epsilon == 0):
        return 0.3 - epsilon / 10
    return 0.85 - abs(configuration.get("lam", 0.5) - 0.5) / 10 - abs(epsilon - 0.3) / 10


def make(tmp_path: Path, study: str, **options: Any) -> Path:
    return make_declared_out(tmp_path / study, study, value, **options)


def tidy(out: Path, on: str = "validation folds") -> dict[tuple[str, str, str, str], dict[str, str]]:
    tables_alone(out)
    rows = table(out, out.name)
    assert list(rows[0]) == COLUMNS
    found = {(row["arm"], row["setting"], row["metric"], row["year"]): row for row in rows if row["on"] == on}
    assert len(found) * len({row["on"] for row in rows}) == len(rows)
    return found


def numbers_of(sentence: str) -> list[float]:
    """The numbers that a sentence says."""
    return [float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", sentence)]


def numbers(row: Mapping[str, str]) -> list[float]:
    return [float(row[name]) for name in ("mean", "se", "n")]


def test_lambda_has_values_over_all_and_over_far_queries_beside_the_published(tmp_path: Path) -> None:
    out = make(tmp_path, "lambda_sweep")
    rows = tidy(out, "test set")
    assert len(rows) == 4 * 2 * 2
    assert {row["published_mean"] for row in rows.values()} == {""}
    assert numbers(rows["lambda_2", "λ = 2", "mAP", "all"]) == pytest.approx([0.70 - 0.05, SEED_SE, 5])
    assert numbers(rows["lambda_2", "λ = 2", "mAP", "6+"]) == pytest.approx([0.65 + APART, SEED_SE, 5])
    assert numbers(rows["lambda_0_5", "λ = 0.5", "CMC_1_all_shots", "6+"]) == pytest.approx(
        [0.80 - 0.09 + APART, SEED_SE, 5]
    )
    rows = tidy(out)
    assert numbers(rows["lambda_2", "λ = 2", "mAP", "6+"]) == pytest.approx([0.70 + APART, FOLD_SE, 3])
    printed = {key: row["published_mean"] for key, row in rows.items() if key[0] == "lambda_1"}
    assert list(printed.values()) == ["0.963", "0.946", "0.97", "0.947"]
    assert {row["published_se"] for row in rows.values()} == {""}
    rows = {(row["on"], float(row["lam"])): row for row in table(out, "lambda_weights")}
    assert list(rows) == [(on, lam) for on in ("validation (folds)", "test (seeds)") for lam in (0, 0.5, 1, 2)]
    found = rows["validation (folds)", 0]
    assert float(found["mAP_6y_mean"]) == pytest.approx(0.80 + APART)
    assert float(found["mAP_6y_se"]) == pytest.approx(FOLD_SE)
    assert (found["n_6y"], found["published_mAP_6y"], found["published_CMC_1_all_shots"]) == ("3", "95.6", "93.6")
    preferred, gain, _ = contents_of(read_results(out)).verdict(read_results(out)).findings[3:]
    assert numbers_of(preferred) == [0.5, 6, 77.32, 0.58, 3, 0.5, 85.0, 0.58, 3, 0.5, 72.32, 0.71, 5, 6, 80.0, 0.71, 5]
    assert "is +5.00 points of mAP at ≥ 6 years" in gain


def test_a_weight_that_breaks_training_stands_at_the_edge_of_the_figure(tmp_path: Path) -> None:
    out = make_declared_out(
        tmp_path / "out", "lambda_sweep", lambda arm, found: 0.2 if arm == "lambda_2" else value(arm, found)
    )
    plot = lambda_sweep.lambda_plot(read_results(out))
    assert RULE in plot.caption
    figure = Figure()
    plot.draw(figure)
    low, high = figure.axes[0].get_ylim()
    lowest, highest = 100 * (0.80 + APART), 85.0  # of the other three; λ = 2 has 20 and 12.3
    assert 65 < low < lowest < highest < high < 88
    assert {text.get_text() for text in figure.axes[0].texts} == {"↓ 12.3 to 20.0"}
    for line in ("ours, all years", "ours, ≥ 6 years"):
        assert [round(x) for x in lines(figure.axes[0])[line]] == [0, 1, 2]


def test_a_mean_over_later_times_counts_each_query_once(tmp_path: Path) -> None:
    out = make(tmp_path, "lambda_sweep")
    path = out / "records" / "lambda_1.c00.seed0.json"
    test = {"mAP": 0.5, "queries": 10, "mAP/year_4": 0.1, "queries/year_4": 6, "mAP/year_6": 0.8, "queries/year_6": 3}
    edit(path, metrics={"test": test | {"mAP/year_8": 0.4, "queries/year_8": 1}})
    trial = read_results(out).of("lambda_1", "replicate")[0]
    assert from_time(trial, "mAP", 6) == pytest.approx((3 * 0.8 + 1 * 0.4) / 4)  # 0.7; the mean of years is 0.6
    assert from_time(trial, "mAP", 4) == pytest.approx((6 * 0.1 + 3 * 0.8 + 1 * 0.4) / 10)
    assert from_time(trial, "mAP", 9) is None
    edit(path, metrics={"test": test | {"mAP/year_8": math.nan, "queries/year_8": 0}})
    assert from_time(read_results(out).of("lambda_1", "replicate")[0], "mAP", 6) == pytest.approx(0.8)


def test_margins_have_a_row_an_epsilon_and_the_verdict_names_the_break(tmp_path: Path) -> None:
    out = make(tmp_path, "margin_sensitivity")
    rows = tidy(out)
    assert len(rows) == 16 * 2
    assert numbers(rows["triplet_epsilon", "ε = 0.5", "mAP", "all"]) == pytest.approx([0.83, FOLD_SE, 3])
    assert rows["triplet_epsilon", "ε = 0.5", "mAP", "all"]["published_mean"] == "0.95"
    assert rows["triplet_epsilon", "ε = 0", "mAP", "all"]["published_mean"] == "0.06"
    assert rows["triplet_epsilon", "ε = 1.3", "CMC_1", "all"]["published_mean"] == ""
    by_epsilon = {float(row["epsilon"]): row for row in table(out, "margins")}
    assert list(by_epsilon)[:3] == [0, 0.01, 0.05]
    assert float(by_epsilon[1]["to_best"]) == pytest.approx(0.20 - 0.85)
    assert (by_epsilon[0]["active_share"], by_epsilon[0.3]["to_best"]) == ("0.0", "0.0")
    assert by_epsilon[0.9]["published_mAP_percent"] == "61"
    said = contents_of(read_results(out)).verdict(read_results(out)).findings
    best, large, broken, zero, _ = map(numbers_of, said)
    assert (best, large, broken) == ([0.3, 85.0, 0.58, 3], [1, 17.0, 20.0, 65.0, 68.0], [0.3, 1])
    assert zero[:5] == [0, 30.0, 0.58, 3, 55.0]
    assert "semi-hard" in said[3]


def test_selected_values_stand_beside_the_published_ones(tmp_path: Path) -> None:
    out = make(tmp_path, "hyperparameter_selection")
    rows = tidy(out)
    assert len(rows) == 5 * 4 + 2 * 16 + 2 + 4
    assert numbers(rows["adatriplet_grid", "ε = 0.5, β = 0.1", "mAP", "all"]) == pytest.approx([0.83, FOLD_SE, 3])
    assert rows["adatriplet_grid", "ε = 0.25, β = 0.25", "mAP", "all"]["published_mean"] == "0.9666"
    assert rows["triplet_grid", "ε = 0.25", "mAP", "all"]["published_mean"] == ""
    found = {(row["loss"], row["search"]): row for row in table(out, "selected_values")}
    shown = ("selected", "published_oai", "published_cxr")
    chosen = [[re.sub(r"\S+ = ", "", row[name]) for name in shown] for row in found.values()]
    grid = found["AdaTriplet", "Grid search"]
    assert grid["published_cxr"] == "ε = 0.5, β = 0.75"
    assert [grid[f"selected_{name}"] for name in ("epsilon", "beta", "lam")] == ["0.25", "0.1", ""]
    assert [row[0] for row in chosen] == ["0.5", "5.7°", "0.1", "0.01", "0.25, 0", "0.25", "2", "0.25, 0.1", "2, 2"]
    assert [tuple(row[1:]) for row in chosen] == [
        ("1", "0.5"),
        ("14.3°", "28.6°"),
        ("0.1", "0.1"),
        ("0.02", "0.01"),
        ("0.75, 0.5", "0.75, 0.5"),
        ("0.25", "0.5"),
        ("2", "2"),
        ("0.5, 0.5", "0.5, 0.75"),
        ("2, 2", "2, 4"),
    ]
    assert (grid["n_s"], "values" in grid) == ("16", False)  # several values in a cell are for people
    shown = (out / "report/tables/selected_values.md").read_text()
    assert "| ε: 0.1, 0.25, 0.5, 0.75; β: 0.1, 0.25, 0.5, 0.75 |" in shown
    assert float(grid["spread"]) == pytest.approx(0.845 - 0.805)
    assert float(found["SCT", "Grid search"]["spread"]) == pytest.approx(0.15)
    said = contents_of(read_results(out)).verdict(read_results(out)).findings
    assert "for OAI for 4 of 9 arms (WAT" in said[0]
    assert "most for SCT + grid search (15.00 points)" in said[2]


def test_baselines_have_every_loss_metric_and_year_without_a_search(tmp_path: Path) -> None:
    out = make_declared_out(tmp_path / "baselines", "baselines", value)
    rows = tidy(out, "test set")
    assert len(rows) == 7 * 3 * (len(YEARS) + 1)
    one = rows["softtriple", "SoftTriple, margin = 0.02", "mAP_at_R", "4"]
    assert numbers(one) == pytest.approx([0.6 - 0.05 - 0.05 - 0.02, SEED_SE, 5])
    assert (one["published_mean"], one["published_se"]) == ("0.477", "0.017")
    every = rows["adatriplet", "AdaTriplet, K_Δ = 2, K_an = 2", "CMC_1_all_shots", "all"]
    assert (every["published_mean"], every["published_se"]) == ("0.956", "0.002")
    ours, theirs = table(out, "losses_by_year"), table(out, "losses_by_year_published")
    assert list(dict.fromkeys(row["metric"] for row in ours)) == ["mAP", "mAP_at_R", "CMC_1_all_shots"]
    assert [(row["metric"], row["loss"]) for row in ours] == [(row["metric"], row["loss"]) for row in theirs]
    values = [f"{year}{part}" for year in (*(f"year_{year}" for year in YEARS), "all") for part in ("", "_se")]
    assert list(theirs[0]) == ["arm", "arm_label", "metric", "loss", *values]
    assert (theirs[0]["year_8"], theirs[0]["year_8_se"]) == ("71.3", "1.4")
    said = contents_of(read_results(out)).verdict(read_results(out)).findings[6:]  # after a sentence a comparison
    assert numbers_of(said[0]) == [85.0, 0.71, 5, 55.0, 0.71, 5]
    assert re.search("Contrastive has the highest.*SoftTriple has the lowest", said[0])


def test_the_papers_all_is_the_mean_over_queries_and_the_report_says_so(tmp_path: Path) -> None:
    queries = published.paper_table("query_counts").set_index(["dataset", "years_after_baseline"])["images"]
    pooled, plain = [], []
    for key, rows in published.paper_table("by_year").groupby(["dataset", "metric", "loss"]):
        values = rows.set_index("years_after_baseline")["mean_percent"]
        years = values.drop("all")
        sizes = [queries[key[0], int(str(year))] for year in years.index]  # type: ignore[index]
        pooled.append(abs(np.average(years, weights=sizes) - values["all"]))
        plain.append(abs(years.mean() - values["all"]))
    assert (len(pooled), max(pooled) < 0.06, f"{min(plain):.2f}", f"{max(plain):.2f}") == (42, True, "0.22", "8.39")
    out = make_declared_out(tmp_path / "baselines", "baselines", value)
    tables_alone(out)
    written = "".join(path.read_text(encoding="utf-8") for path in (out / "report/tables").glob("*.md"))
    assert "gives the printed “All” to ±0.06 percentage points in 42 of 42 rows" in written
    assert "the plain mean of years in 0, being off by 0.22 to 8.39" in written


def test_what_reports_say_of_the_paper_is_what_its_tables_have() -> None:
    curve = published.margin_curve()
    best = [epsilon for epsilon, found in curve.items() if found == max(curve.values())]
    large = [100 * found for epsilon, found in curve.items() if epsilon >= 1]
    said = [100 * max(curve.values()), min(best), max(best), max(large), min(large), 1, 100 * curve[0], 0]
    assert numbers_of(margin_sensitivity.PAPER) == [round(number, 1 if number < 1 else 0) for number in said]
    ends = [published.dynamics(name) for name in ("epsilon", "beta")]
    assert numbers_of(training_dynamics.PAPER) == [*(round(end.iloc[-1], 3) for end in ends), ends[0].index[-1] + 1]
    by_lam = {lam: published.lambda_value(lam, "mAP", apart=True) for lam in (0, 0.5, 1, 2)}
    most, least = max(by_lam, key=by_lam.__getitem__), min(by_lam, key=by_lam.__getitem__)
    assert numbers_of(lambda_sweep.PAPER)[2:] == [most, by_lam[most], least, by_lam[least]]
    assert numbers_of(baselines.paper_sentence(published.OAI)) == [5, 96.9, 0.1, 83.2, 0.7]
    assert numbers_of(baselines.paper_sentence(published.CXR)) == [5, 74.5, 0.4, 22.3, 0.1]


@pytest.mark.parametrize("name", ["baselines", "unlisted"])
def test_a_study_without_a_search_shows_nothing_of_one(tmp_path: Path, name: str) -> None:
    out = make_declared_out(tmp_path / "out", "baselines", value)
    for path in [out / "study.json", *(out / "records").iterdir()]:
        edit(path, study=name)
    text = build_report(with_queries(out)).read_text(encoding="utf-8")
    assert not re.search(r"[Vv]alidation|figure not drawn|search \(folds\)|\bn = 0", text)
    assert "not complete or not clean" not in text
    written = {path.stem for path in (out / "report").rglob("*.*")}
    assert not written & {"search_cost", "configurations", "expected_best", "map_vs_search_cost"}
    assert len(table(out, "trial_status")) == 7


@pytest.mark.parametrize("name", STUDIES)
def test_a_run_that_has_just_begun_or_lost_trials_is_reported(tmp_path: Path, name: str) -> None:
    out = make(tmp_path, name)
    records = sorted((out / "records").iterdir())
    spoil(records[0], "diverged", "loss is not a number")
    records[1].unlink()
    assert "1 diverged" in " ".join(status_lines(read_results(out)))
    on = "test set" if name in ("lambda_sweep", "baselines") else "validation folds"
    rows = tidy(out, on)
    assert {float(row["n"]) for row in rows.values()} >= {5.0 if on == "test set" else 3.0}
    shutil.rmtree(out / "records")
    (out / "selection.json").unlink()
    edit(out / "study.json", executions=[])
    page = build_report(out).read_text(encoding="utf-8")
    assert "figure not drawn" in page
    assert re.search(r"\b0 of (\d+) test replicates completed: \1 missing", page)
    rows = tidy(out, on)
    assert {(row["mean"], row["se"], row["n"]) for row in rows.values()} == {("", "", "0")}
