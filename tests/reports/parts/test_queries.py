"""What is made of queries: tables over seeds and subjects, and the queries that are shown as pictures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fmim_core.metric_names import METRICS
from fmim_reports.build import status_lines
from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.parts.queries import uncertainty as parts
from fmim_reports.parts.queries.pictures import samples_plot, worst_queries_plot
from fmim_reports.parts.queries.shown import best_arm, sampled_queries, shown_rows, worst_of_all, worst_of_best_arm
from fmim_reports.parts.queries.uncertainty import uncertainty_by_year_table, uncertainty_table
from fmim_reports.reading.results import Results, read_results
from fmim_reports.stats import crossed_mean
from tests.support.factories import make_out
from tests.support.file_contents import YEARS, edit, record
from tests.support.query_files import SUBJECTS, add_queries, queries_by, write_images, write_query_files
from tests.support.reports import assert_drawn, panels, rows

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
    assert notes == [
        "Only 6 subjects: an interval over them may be too short (10 of 12 rows).",
        "The variance of seeds is estimated as 0: the SE over both is that over subjects (6 of 12 rows).",
    ]


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


QUERIES = ("a1", "a4", "b1", "c2", "d1")  # d has no baseline image
RANKS = {  # arm → seed → rank of each query's nearest match
    "triplet_q1": [(1, 2, 4, 9, None), (1, 1, 4, 3, None)],
    "triplet_grid": [(1, 1, 2, 1, None), (1, 3, 5, 1, None)],
}


def queries(ranks: tuple[int | None, ...]) -> pd.DataFrame:
    """A file of queries with these ranks; each has one match, so that AP is 1 / rank. Misses find row 90 + rank."""
    rank = pd.Series(ranks, dtype=float)
    asked = {
        "query": QUERIES,
        "subject": [name[0] for name in QUERIES],
        "side": "",
        "months": [12.0 * int(name[1]) for name in QUERIES],
        "year": [int(name[1]) for name in QUERIES],
        "matches": [1, 1, 1, 1, 0],
        "chance_ap": [0.1] * 4 + [None],
        "query_row": range(10, 15),
    }
    found = {metric.of_query: 1 / rank for metric in METRICS.values()} | {"rank": rank}
    truth = pd.Series([20, 20, 21, 22, None], dtype=float)
    return pd.DataFrame(asked | found | {"truth_row": truth, "top_row": truth.where(rank == 1, 90 + rank)})


@pytest.fixture
def ranked(tmp_path: Path) -> Path:
    ranked = make_out(tmp_path / "out", folds=1, replicates=2, arms=ARMS)
    for arm, seeds in RANKS.items():
        for seed, ranks in enumerate(seeds):
            path = record(ranked, f"{arm}.c{2 if arm == 'triplet_grid' else 0:02d}.seed{seed}")
            found = queries(ranks)
            edit(path, metrics={"validation": None, "test": {"mAP": float(found["ap"].mean())}})
            add_queries(path, found)
    return ranked


@pytest.fixture
def pictured(ranked: Path) -> Results:
    """The study with the images that its report shows."""
    write_images(ranked, shown_rows(read_results(ranked)))
    return read_results(ranked)


def test_the_best_arms_worst_queries_by_mean_ap(pictured: Results) -> None:
    assert best_arm(pictured) == "triplet_grid"
    # b1: AP (1/2 + 1/5) / 2 = 0.35; a4: (1 + 1/3) / 2 = 0.67; the others were never missed.
    b1, a4 = worst_of_best_arm(pictured)
    assert (b1.query, b1.time, b1.query_row, b1.truth_row, b1.rank) == ("b1", 1, 12, 21, 3.5)
    assert (b1.missed, b1.of, b1.top_row) == (2, 2, 92)  # 92 and 95 once each: the lower one
    assert (a4.query, a4.rank, a4.missed, a4.top_row) == ("a4", 2, 1, 93)


def test_the_queries_that_all_arms_miss_come_first(pictured: Results) -> None:
    shown = worst_of_all(pictured)
    # b1 was missed by 4 of 4, c2 and a4 by 2 of 4: c2 has AP (1/9 + 1/3 + 2) / 4, less than a4's (1/2 + 1/3 + 2) / 4.
    assert [(one.query, one.missed, one.of) for one in shown] == [("b1", 4, 4), ("c2", 2, 4), ("a4", 2, 4)]
    assert shown[0].rank == 4
    assert shown[0].top_row == 94  # found twice, 92 and 95 once


def test_samples_are_the_latest_visits_and_what_seed_0_found(pictured: Results) -> None:
    samples = sampled_queries(pictured)
    assert list(samples) == ARMS
    assert {one.query for one in samples["triplet_q1"]} == {"a4", "b1", "c2"}
    found = {one.query: (one.rank, one.top_row) for one in samples["triplet_q1"]}
    assert found == {"a4": (2, 92), "b1": (4, 94), "c2": (9, 99)}
    assert {one.query: one.top_row for one in samples["triplet_grid"]} == {"a4": 20, "b1": 92, "c2": 22}


def test_the_figure_says_rank_and_how_many_missed(pictured: Results) -> None:
    assert_drawn(samples_plot(pictured))
    plot = worst_queries_plot(pictured)
    assert_drawn(plot)
    heads = ["query", "true match", "found first"]
    said = [[text.get_text() for text in axes.texts] for axes in panels(plot)]
    assert said == [
        [*heads, "1 y", "rank 3.5", "2 of 2", "4 y", "rank 2", "1 of 2"],
        [*heads, "1 y", "rank 4", "4 of 4", "2 y", "rank 2", "2 of 4", "4 y", "rank 1.5", "2 of 4"],
    ]
    assert plot.alt.startswith("Triplet + grid search: b1 (1 y) at rank 3.5, missed by 2 of 2; a4 (4 y) at rank 2")


def test_what_is_missing_is_said(ranked: Path, tmp_path: Path) -> None:
    with pytest.raises(NothingToDraw, match=r"samples/10\.png|samples/1\d\.png is missing: run the study again"):
        worst_queries_plot(read_results(ranked))
    without = read_results(make_out(tmp_path / "without", folds=1, replicates=1, arms=ARMS))
    assert shown_rows(without) == set()
    for plot in (samples_plot, worst_queries_plot):
        with pytest.raises(NothingToDraw, match="kept its queries"):
            plot(without)


def test_a_study_that_misses_nothing_has_no_worst_queries(ranked: Path) -> None:
    for path in (ranked / "records").glob("*.seed*.json"):
        found = queries((1, 1, 1, 1, None))
        edit(path, metrics={"validation": None, "test": {"mAP": 1.0}})
        add_queries(path, found)
    with pytest.raises(NothingToDraw, match="finds a match first for every query"):
        worst_queries_plot(read_results(ranked))
