"""Which values of a table are marked as the best."""

from __future__ import annotations

import math
from typing import Any

from fmim_core.metric_names import METRICS, Metric
from fmim_reports.writing.formats import to_tex
from fmim_reports.writing.markup import latex, markdown
from fmim_reports.writing.tables import Column, Table

MAP = METRICS["mAP"]
ERROR = Metric("error", "error rate", higher_is_better=False)


def best(values: list[float | None], metric: Metric | None = MAP, **flags: list[int]) -> set[int]:
    """The rows that are marked; `flags` are the rows that have one, as `rule=[2]`."""
    rows: list[dict[str, Any]] = [
        {"value": value} | {flag: number in which for flag, which in flags.items()}
        for number, value in enumerate(values)
    ]
    table = Table("t", "T", "", [Column("value", "Value", "percent", metric=metric)], rows)
    return {at for at, row in enumerate(row for group in table.row_groups for row in group) if row.cells[0].best}


def test_the_best_is_that_of_the_metrics_direction() -> None:
    assert best([0.5, 0.7, 0.6]) == {1}
    assert best([0.5, 0.7, 0.6], ERROR) == {0}
    assert best([0.5, 0.7, 0.6], None) == set()


def test_what_is_shown_alike_is_as_good_and_what_is_no_number_is_not() -> None:
    assert best([0.70001, 0.70004, 0.6]) == {0, 1}  # both are shown as 70.00
    assert best([0.7, 0.7]) == best([0.7]) == best([math.nan, None]) == set()
    assert best([math.nan, 0.5, None, 0.6]) == {3}


def test_groups_have_their_own_and_totals_and_references_have_none() -> None:
    assert best([0.5, 0.6, 0.9, 0.8], rule=[2]) == {1, 2}
    assert best([0.5, 0.6, 0.9], total=[2]) == best([0.5, 0.6, 0.9], rule=[2], reference=[2]) == {1}


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
