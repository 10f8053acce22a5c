"""The tables of a report, as CSV, Markdown and LaTeX, from records whose numbers are known by formula."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fmim_core.metric_names import METRICS, Metric
from fmim_reports.reading.files import key_of
from fmim_reports.reading.summary import Estimate
from fmim_reports.stats import MeanSE
from fmim_reports.writing.formats import configuration_text, decimal, mean_se_text, points, to_html, to_md, to_tex
from fmim_reports.writing.markup import latex, markdown
from fmim_reports.writing.tables import Column, Table
from tests.support.factories import SPACES, best, configurations, level, make_out
from tests.support.file_contents import YEARS, record, spoil
from tests.support.reports import table, tables_alone

COLUMNS = (
    "arm,arm_label,loss,group,search,n_s,trials,epochs,device_seconds,"
    "validation_mAP_mean,validation_mAP_se,validation_n,test_mAP_mean,test_mAP_se,test_n"
)


def test_search_cost_is_one_row_per_arm_with_known_values(reported: Path) -> None:
    header = (reported / "report/tables/search_cost.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == COLUMNS
    rows = table(reported, "search_cost")
    assert [row["arm"] for row in rows] == list(SPACES)
    n_s_of_arms = [1, 1, 4, 4, 2, 1, 1, 16, 4]
    assert [int(row["n_s"]) for row in rows] == n_s_of_arms
    for row, n_s in zip(rows, n_s_of_arms, strict=True):
        assert (int(row["trials"]), int(row["epochs"])) == (3 * n_s, 18 * n_s)
        assert float(row["device_seconds"]) == 36.0 * n_s
        expected = level(row["arm"], best(row["arm"]))
        assert float(row["validation_mAP_mean"]) == pytest.approx(expected)
        assert float(row["validation_mAP_se"]) == pytest.approx(0.01 / math.sqrt(3))
        assert float(row["test_mAP_mean"]) == pytest.approx(expected - 0.05)
        assert float(row["test_mAP_se"]) == pytest.approx(0.0070711, abs=1e-7)
        assert (row["validation_n"], row["test_n"]) == ("3", "5")


def test_the_columns_of_files_have_their_units(reported: Path) -> None:
    described = {(row["table"], row["column"]): (row["type"], row["unit"]) for row in table(reported, "columns")}
    assert described["search_cost", "device_seconds"] == ("number", "s")
    assert described["search_cost", "test_mAP_mean"] == described["paired_differences", "low"] == ("number", "fraction")
    assert described["search_cost", "test_n"] == ("integer", "count")


def test_tables_show_ours_beside_the_published(reported: Path) -> None:
    arms = {row["arm"]: row for row in table(reported, "test_metrics")}
    printed = {arm: row["published_mAP_percent"] for arm, row in arms.items() if arm.startswith("triplet")}
    names = [f"triplet_{search}" for search in ("q1", "q2", "wat", "grid", "automargin")]
    assert printed == dict(zip(names, ["27.3", "87.7", "96.5", "96.6", "96.6"], strict=True))
    assert arms["adatriplet_grid"]["published_mAP_percent"] == "97.0"
    assert float(arms["adatriplet_grid"]["CMC_1_all_shots_mean"]) == pytest.approx(0.80 - 0.05 - 0.09)
    grid = table(reported, "grid_vs_automargin")
    assert len(grid) == 16 + 1 + 4 + 1
    assert (grid[10]["configuration"], grid[10]["published_oai_percent"]) == ("ε = 0.5, β = 0.5", "97.02")
    assert float(grid[16]["published_oai_percent"]) == pytest.approx(96.01, abs=0.005)
    assert float(grid[21]["published_cxr_percent_se"]) == pytest.approx(0.70, abs=0.005)
    values = [level("adatriplet_grid", c) for c in configurations("adatriplet_grid")]
    assert float(grid[16]["validation_mAP_mean"]) == pytest.approx(sum(values) / 16)
    every = table(reported, "automargin_vs_grid")
    folds = {(row["arm"], row["metric"]): row for row in every if row["on"] == "validation folds"}
    tidy = {(row["arm"], row["metric"], row["year"]): row for row in every if row["on"] == "test set"}
    assert len(tidy) == 9 * 4 * (len(YEARS) + 1)
    assert len(folds) == 9 * 2
    assert (folds["triplet_grid", "mAP"]["published_mean"], folds["triplet_grid", "mAP"]["n"]) == ("0.966", "3")
    assert float(folds["triplet_grid", "mAP"]["mean"]) == pytest.approx(level("triplet_grid", best("triplet_grid")))
    assert tidy["triplet_grid", "mAP", "1"]["published_mean"] == ""


def test_one_seed_has_no_se_and_no_interval(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", replicates=1)
    tables_alone(out)
    row = table(out, "search_cost")[4]
    assert (row["test_mAP_se"], row["test_n"]) == ("", "1")
    text = (out / "report/tables/test_metrics.md").read_text(encoding="utf-8")
    assert ("Test, n = 1 |" in text, "± n/a |" in text, "(n = 1)" in text) == (True, True, False)
    assert "fewer than two pairs (1)" in table(out, "paired_differences")[0]["note"]


def test_latex_is_balanced_escaped_and_plain(out: Path) -> None:
    spoil(record(out, "triplet_grid.c00.fold0"), "failed", r"100 % of {x}_y & #1 \ ~ ^ $ <é>")
    tables_alone(out)
    for path in sorted((out / "report/tables").glob("*.tex")):
        text = path.read_text(encoding="utf-8")
        body = text.split("\n", 1)[1]  # the first line is a comment
        assert re.findall(r"\\begin\{(\w+\*?)\}", body)[::-1] == re.findall(r"\\end\{(\w+\*?)\}", body)
        bare = re.sub(r"\\[\\&%$#_{}]", "", body)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert not re.search(r"[%#]", bare)
        assert not re.search(r"[εβΔλ±×−–√]", body)
        for tabular in re.findall(r"\\begin\{tabular\}\{(.*?)\\end\{tabular\}", body, flags=re.DOTALL):
            alignment, lines = tabular.split("}\n", 1)
            width = len(re.findall(r"[lr]", re.sub(r">\{.*?\}p\{.*?\}", "l", alignment.replace("@{}", ""))))
            rows = [line for line in lines.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
            assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} <= {width - 1}, path


def test_numbers_and_names_are_written_as_agreed() -> None:
    found = [decimal(85.495, 2), decimal(-0.005, 2), decimal(1234.5, 1), decimal(math.nan, 2)]
    assert found == ["85.50", "−0.01", "1,234.5", "NaN"]
    assert (points(0.003), points(-0.0267), points(None)) == ("+0.30", "−2.67", "n/a")
    assert mean_se_text(MeanSE(0.72, 0.0070711, 5, 0.0158)) == "72.00 ± 0.71"
    assert configuration_text({"k_delta": 2, "k_an": 4}) == "K_Δ = 2, K_an = 4"
    assert to_html("N_s < 2 & K_an") == "<i>N</i><sub>s</sub>\u00a0&lt;\u00a02 &amp; <i>K</i><sub>an</sub>"
    assert to_tex("K_Δ = 2 & 5 %_x") == r"$K_{\Delta}$ = 2 \& 5 \%\_x"
    assert to_md("a|b<c>") == r"a\|b\<c\>"
    assert key_of({"a": 1, "b": 2.0}) == key_of({"b": 2, "a": 1.0})


MAP = METRICS["mAP"]
ERROR = Metric("error", "error rate", higher_is_better=False)


def marked(values: list[float | None], metric: Metric | None = MAP, **flags: list[int]) -> set[int]:
    """The rows that are marked; `flags` are the rows that have one, as `rule=[2]`."""
    rows: list[dict[str, Any]] = [
        {"value": value} | {flag: number in which for flag, which in flags.items()}
        for number, value in enumerate(values)
    ]
    table = Table("t", "T", "", [Column("value", "Value", "percent", metric=metric)], rows)
    return {at for at, row in enumerate(row for group in table.row_groups for row in group) if row.cells[0].best}


def test_the_best_is_that_of_the_metrics_direction() -> None:
    assert marked([0.5, 0.7, 0.6]) == {1}
    assert marked([0.5, 0.7, 0.6], ERROR) == {0}
    assert marked([0.5, 0.7, 0.6], None) == set()


def test_what_is_shown_alike_is_as_good_and_what_is_no_number_is_not() -> None:
    assert marked([0.70001, 0.70004, 0.6]) == {0, 1}  # both are shown as 70.00
    assert marked([0.7, 0.7]) == marked([0.7]) == marked([math.nan, None]) == set()
    assert marked([math.nan, 0.5, None, 0.6]) == {3}


def test_groups_have_their_own_and_totals_and_references_have_none() -> None:
    assert marked([0.5, 0.6, 0.9, 0.8], rule=[2]) == {1, 2}
    assert marked([0.5, 0.6, 0.9], total=[2]) == marked([0.5, 0.6, 0.9], rule=[2], reference=[2]) == {1}


def test_a_mean_over_fewer_replicates_than_planned_is_not_the_best() -> None:
    values = [
        Estimate({0: 0.9}, 2, "seed"),
        Estimate({0: 0.7, 1: 0.8}, 2, "seed"),
        Estimate({0: 0.6, 1: 0.7}, 2, "seed"),
    ]
    table = Table("t", "T", "", [Column("value", "mAP", "estimate", metric=MAP)], [{"value": one} for one in values])
    assert [row.cells[0].best for group in table.row_groups for row in group] == [False, True, False]
    assert table.all_notes == ["Bold: the best value of a column, of those over every planned replicate."]
    fewer = replace(table, rows=[{"value": values[1]}, {"value": Estimate({0: 0.9}, 1, "seed")}])
    assert fewer.all_notes == ["Bold: the best value of a column, whatever its n."]


def test_latex_and_markdown_mark_the_same_cells_as_the_page() -> None:
    rows = [{"arm": "a", "value": 0.5}, {"arm": "b", "value": 0.7}]
    table = Table("t", "T", "C.", [Column("arm", "Arm"), Column("value", "mAP", "percent", metric=MAP)], rows)
    assert markdown(table).splitlines()[4:] == ["| a | 50.00 |", "| b | **70.00** |", "", f"- {table.all_notes[0]}"]
    written = latex(table)
    assert [line for line in written.splitlines() if line.endswith(r"\\")][1:] == [
        r"a & 50.00 \\",
        r"b & \textbf{70.00} \\",
    ]
    assert to_tex(table.all_notes[0]) in written


def test_the_header_says_the_n_of_most_means_and_a_cell_with_another_says_it() -> None:
    whole, other = Estimate({0: 0.7, 1: 0.8}, 2, "seed"), Estimate({0: 0.5}, 1, "seed")
    short = Estimate({0: 0.6}, 2, "seed")
    rows = [{"arm": str(at), "value": one} for at, one in enumerate([whole, whole, whole, other, short])]
    columns = [Column("arm", "Arm"), Column("value", "mAP", "estimate")]
    found = Table("t", "T", "", columns, rows)
    assert found.headers == ["Arm", "mAP, n\u00a0=\u00a02"]
    cells = [row.cells[1] for group in found.row_groups for row in group]
    assert [(cell.n, cell.short) for cell in cells] == [("", False)] * 3 + [("1", False), ("1 of 2", True)]
    unlike = replace(found, rows=rows[2:])
    assert unlike.headers == ["Arm", "mAP"]
    assert [row.cells[1].n for group in unlike.row_groups for row in group] == ["2", "1", "1 of 2"]


def test_latex_is_one_table_that_fits_a_line_and_leaves_the_columns_that_are_more_to_the_csv_file() -> None:
    rows = [{"name": "a long name of an arm without search", "value": 0.5, "other": 0.25} for _ in range(3)]
    columns = [Column("name", "Name"), *(Column("value", f"Value {at}", "percent") for at in range(12))]
    written = latex(Table("t", "T", "C.", [*columns, Column("other", "Other", "percent", more=True)], rows))
    assert (written.count(r"\begin{table*}"), written.count(r"\begin{tabular}")) == (1, 1)
    assert [written.count(rf"Value {at} ") for at in range(12)] == [1] * 12
    assert "25.00" not in written
    assert "tables/t.csv" in written.splitlines()[0]
    assert r"\ifdim\width>\linewidth" in written


def test_latex_goes_across_the_page_and_on_in_further_floats_where_it_must() -> None:
    rows = [{"name": f"{number}_a", "value": number / 100} for number in range(100)]
    columns = [Column("name", "Name"), *(Column("value", "mAP", "percent") for _ in range(8))]
    narrow, wide = (latex(Table("t", "T", "C.", columns[:count], rows)) for count in (2, 9))
    assert (narrow.count(r"\begin{table}"), wide.count(r"\begin{table*}")) == (3, 3)
    for written in (narrow, wide):
        assert (written.count(r"\label{tab:t}"), written.count("(continued)")) == (1, 2)
        assert [line.split(" & ")[0] for line in written.splitlines() if r"\_" in line] == [
            rf"{number}\_a" for number in range(100)
        ]
