"""Tables over seeds and subjects: their numbers are those of the queries, and no query is left out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fmim_reports.build import status_lines
from fmim_reports.parts.queries import uncertainty as parts
from fmim_reports.parts.queries.uncertainty import uncertainty_by_year_table, uncertainty_table
from fmim_reports.reading.results import Results, read_results
from fmim_reports.stats import crossed_mean
from tests.support.factories import make_out
from tests.support.file_contents import YEARS
from tests.support.query_files import SUBJECTS, queries_by, write_query_files
from tests.support.reports import rows

ARMS = ["triplet_q1", "triplet_grid"]
TABLES = (
    parts.by_interval_table,
    parts.by_grade_table,
    parts.by_age_table,
    parts.by_sex_table,
    parts.by_side_table,
    parts.by_view_table,
    parts.by_disease_table,
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = make_out(tmp_path_factory.mktemp("queries") / "out", folds=1, arms=ARMS)
    write_query_files(out)
    return out


@pytest.fixture(scope="module")
def results(out: Path) -> Results:
    return read_results(out)


def test_an_arm_has_its_mean_and_its_errors(results: Results) -> None:
    _, row = rows(uncertainty_table(results))
    assert (row["arm_label"], row["seeds"], row["queries"], row["subjects"]) == (
        "Triplet + grid search",
        "5",
        "146",
        "40",
    )
    assert float(row["mean"]) == pytest.approx(0.73, abs=1e-12)
    assert float(row["se_seeds"]) == pytest.approx(0.0158113883 / 5**0.5, abs=1e-9)  # of factories.SEEDS
    found = crossed_mean(results.queries.values("triplet_grid", results.metric), results.queries.subjects)
    assert float(row["se_subjects"]) == found.over_subjects.se
    assert float(row["se_both"]) == found.over_both.se
    assert (float(row["low"]), float(row["high"])) == (found.over_both.low, found.over_both.high)


def test_years_are_the_queries_of_each_year(results: Results) -> None:
    found = rows(uncertainty_by_year_table(results))
    assert [(row["arm_label"], row["year"]) for row in found[:6:5]] == [
        ("Triplet + Q1", "1"),
        ("Triplet + grid search", "1"),
    ]
    assert {row["year"]: int(row["queries"]) for row in found} == {str(year): count for year, count in YEARS.items()}
    frame = queries_by(results, "triplet_grid")
    of_year = frame[(frame["year"] == 6) & (frame["matches"] > 0)]
    assert float(found[-2]["mean"]) == pytest.approx(of_year["ap"].mean(), abs=1e-12)


def test_strata_hold_every_query_once(results: Results) -> None:
    for table in TABLES:
        assert table.possible(results)
        made = rows(table(results))
        assert sum(int(row["queries"]) for row in made if row["arm_label"] == "Triplet + Q1") == 146
    assert not parts.by_tkr_table.possible(results)  # the data set does not say it
    grades = [row for row in rows(parts.by_grade_table(results)) if row["arm_label"] == "Triplet + grid search"]
    assert [row["grade"] for row in grades] == ["0", "1", "2", "3", "4", "unknown"]
    assert [row["subjects"] for row in grades] == ["6", "6", "6", "6", "6", "10"]
    frame = queries_by(results, "triplet_grid")
    chosen = frame[(frame["grade"] == "3") & (frame["matches"] > 0)]
    assert float(grades[3]["mean"]) == pytest.approx(chosen["ap"].mean(), abs=1e-12)
    notes = parts.by_grade_table(results).notes
    assert notes == ["Only 6 subjects: an interval over them may be too short."]


def test_bands_hold_the_numbers_that_they_say() -> None:
    ages = pd.Series(["", "49", "49.5", "50", "59.9", "60", "69", "70", "101"])
    named = ["", "to 49", "to 49", "50 to 59", "50 to 59", "60 to 69", "60 to 69", "from 70", "from 70"]
    assert parts.banded(ages, parts.AGE).tolist() == named
    months = pd.Series([1.0, 12.0, 13.0, 36.0, 48.0, 96.0, 97.0])
    bands = ["to 12", "to 12", "13 to 36", "13 to 36", "37 to 60", "61 to 96", "from 97"]
    assert parts.banded(months, parts.MONTHS).tolist() == bands


def test_values_of_few_subjects_stand_together_and_the_unknown_apart() -> None:
    subjects = pd.Series([f"s{number}" for number in range(17)], index=range(100, 117))
    values = pd.Series(["PA"] * 8 + ["AP"] * 4 + ["LL"] * 3 + [""] * 2, index=subjects.index)
    found = parts.strata(values, subjects, ["AP", "LL", "PA"])
    assert {name: len(queries) for name, queries in found.items()} == {"PA": 8, "AP, LL": 7, "unknown": 2}
    alone = parts.strata(values.replace("LL", "PA"), subjects, ["AP", "LL", "PA"])
    assert list(alone) == ["AP", "PA", "unknown"]  # one small value has nobody to stand with
    assert found["unknown"].tolist() == [115, 116]


def test_seeds_without_a_file_are_named(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", folds=1, arms=ARMS)
    without = read_results(out)
    for table in (uncertainty_table, uncertainty_by_year_table, parts.by_interval_table):
        made = table(without)
        assert list(made.rows) == []
        assert made.empty == "No completed replicate has its queries beside its record."
    assert not parts.by_grade_table.possible(without)
    write_query_files(out)
    (out / "records" / "triplet_q1.c00.seed2.queries.parquet").unlink()
    results = read_results(out)
    assert status_lines(results) == ["1 file does not count; it is listed under “Not counted”."]
    table = uncertainty_table(results)
    assert [row["seeds"] for row in rows(table)] == ["4", "5"]
    assert list(table.notes) == ["Without the queries of Triplet + Q1: 1 of its completed seeds."]
    assert len({*results.queries.subjects.values()}) == SUBJECTS
