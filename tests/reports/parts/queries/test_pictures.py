"""Which queries are shown as pictures, chosen by hand from known ranks; and that the figures show these."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fmim_core.metric_names import METRICS
from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.parts.queries.pictures import samples_plot, worst_queries_plot
from fmim_reports.parts.queries.shown import best_arm, sampled_queries, shown_rows, worst_of_all, worst_of_best_arm
from fmim_reports.reading.results import Results, read_results
from tests.support.factories import make_out
from tests.support.file_contents import edit, record
from tests.support.query_files import add_queries, write_images
from tests.support.reports import assert_drawn, panels

ARMS = ["triplet_q1", "triplet_grid"]
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
def out(tmp_path: Path) -> Path:
    out = make_out(tmp_path / "out", folds=1, replicates=2, arms=ARMS)
    for arm, seeds in RANKS.items():
        for seed, ranks in enumerate(seeds):
            path = record(out, f"{arm}.c{2 if arm == 'triplet_grid' else 0:02d}.seed{seed}")
            found = queries(ranks)
            edit(path, metrics={"validation": None, "test": {"mAP": float(found["ap"].mean())}})
            add_queries(path, found)
    return out


@pytest.fixture
def results(out: Path) -> Results:
    """The study with the images that its report shows."""
    write_images(out, shown_rows(read_results(out)))
    return read_results(out)


def test_the_best_arms_worst_queries_by_mean_ap(results: Results) -> None:
    assert best_arm(results) == "triplet_grid"
    # b1: AP (1/2 + 1/5) / 2 = 0.35; a4: (1 + 1/3) / 2 = 0.67; the others were never missed.
    b1, a4 = worst_of_best_arm(results)
    assert (b1.query, b1.time, b1.query_row, b1.truth_row, b1.rank) == ("b1", 1, 12, 21, 3.5)
    assert (b1.missed, b1.of, b1.top_row) == (2, 2, 92)  # 92 and 95 once each: the lower one
    assert (a4.query, a4.rank, a4.missed, a4.top_row) == ("a4", 2, 1, 93)


def test_the_queries_that_all_arms_miss_come_first(results: Results) -> None:
    shown = worst_of_all(results)
    # b1 was missed by 4 of 4, c2 and a4 by 2 of 4: c2 has AP (1/9 + 1/3 + 2) / 4, less than a4's (1/2 + 1/3 + 2) / 4.
    assert [(one.query, one.missed, one.of) for one in shown] == [("b1", 4, 4), ("c2", 2, 4), ("a4", 2, 4)]
    assert shown[0].rank == 4
    assert shown[0].top_row == 94  # found twice, 92 and 95 once


def test_samples_are_the_latest_visits_and_what_seed_0_found(results: Results) -> None:
    samples = sampled_queries(results)
    assert list(samples) == ARMS
    assert {one.query for one in samples["triplet_q1"]} == {"a4", "b1", "c2"}
    found = {one.query: (one.rank, one.top_row) for one in samples["triplet_q1"]}
    assert found == {"a4": (2, 92), "b1": (4, 94), "c2": (9, 99)}
    assert {one.query: one.top_row for one in samples["triplet_grid"]} == {"a4": 20, "b1": 92, "c2": 22}


def test_the_figure_says_rank_and_how_many_missed(results: Results) -> None:
    assert_drawn(samples_plot(results))
    plot = worst_queries_plot(results)
    assert_drawn(plot)
    heads = ["query", "true match", "found first"]
    said = [[text.get_text() for text in axes.texts] for axes in panels(plot)]
    assert said == [
        [*heads, "1 y", "rank 3.5", "2 of 2", "4 y", "rank 2", "1 of 2"],
        [*heads, "1 y", "rank 4", "4 of 4", "2 y", "rank 2", "2 of 4", "4 y", "rank 1.5", "2 of 4"],
    ]
    assert plot.alt.startswith("Triplet + grid search: b1 (1 y) at rank 3.5, missed by 2 of 2; a4 (4 y) at rank 2")


def test_what_is_missing_is_said(out: Path, tmp_path: Path) -> None:
    with pytest.raises(NothingToDraw, match=r"samples/10\.png|samples/1\d\.png is missing: run the study again"):
        worst_queries_plot(read_results(out))
    without = read_results(make_out(tmp_path / "without", folds=1, replicates=1, arms=ARMS))
    assert shown_rows(without) == set()
    for plot in (samples_plot, worst_queries_plot):
        with pytest.raises(NothingToDraw, match="kept its queries"):
            plot(without)


def test_a_study_that_misses_nothing_has_no_worst_queries(out: Path) -> None:
    for path in (out / "records").glob("*.seed*.json"):
        found = queries((1, 1, 1, 1, None))
        edit(path, metrics={"validation": None, "test": {"mAP": 1.0}})
        add_queries(path, found)
    with pytest.raises(NothingToDraw, match="every query was found at once"):
        worst_queries_plot(read_results(out))
