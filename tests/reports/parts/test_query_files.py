"""What the files of queries are read as, and which of them cannot be used."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fmim_core.metric_names import METRICS
from fmim_core.records import read_json
from fmim_reports.build import status_lines
from fmim_reports.reading.results import read_results
from tests.support.factories import make_out
from tests.support.file_contents import edit, record
from tests.support.query_files import add_queries, asked_queries, found_queries, write_query_files

ARMS = ["triplet_q1", "triplet_grid"]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A study of two arms, five seeds each, whose replicates have their queries."""
    out = make_out(tmp_path / "out", folds=1, arms=ARMS)
    write_query_files(out)
    return out


def test_the_values_of_an_arm_are_seeds_by_scored_queries(out: Path) -> None:
    results = read_results(out)
    assert results.problems == ()
    values = results.queries.values("triplet_grid", METRICS["mAP"])
    assert values.shape == (5, 146)
    assert values.index.tolist() == results.queries.seeds("triplet_grid") == [0, 1, 2, 3, 4]
    assert values.columns.tolist() == list(range(146))  # two of the 148 have no match
    recorded = [trial.metric("mAP") for trial in results.of("triplet_grid", "replicate")]
    assert values.mean(axis=1).tolist() == pytest.approx(recorded, abs=1e-12)
    asked = asked_queries()
    assert results.queries.subjects == dict(enumerate(asked["subject"][:146]))
    assert results.queries.values("triplet_q2", METRICS["mAP"]).shape == (0, 146)


def test_a_file_that_cannot_be_used_is_named_and_its_record_still_counts(out: Path) -> None:
    folder = out / "records"
    damaged, missing, exchanged = (folder / f"triplet_q1.c00.seed{seed}.queries.parquet" for seed in range(3))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    missing.unlink()
    exchanged.write_bytes((folder / "triplet_q1.c00.seed3.queries.parquet").read_bytes())
    edit(record(out, "triplet_q1.c00.seed4"), metrics={"validation": None, "test": {"mAP": 0.5}})
    other = asked_queries().assign(grade="4")
    mean = read_json(record(out, "triplet_grid.c02.seed0"))["metrics"]["test"]["mAP"]
    queries = pd.concat([other, found_queries(other, mean, 0)], axis=1)
    add_queries(record(out, "triplet_grid.c02.seed1"), queries)
    edit(record(out, "triplet_grid.c02.seed1"), metrics={"validation": None, "test": {"mAP": mean}})
    (folder / "triplet_q9.c00.seed0.queries.parquet").write_bytes(b"")
    results = read_results(out)
    why = {problem.where.removesuffix(".queries.parquet"): problem.why for problem in results.problems}
    expected = {
        "triplet_grid.c02.seed1": "different queries from the study's other files",
        "triplet_q1.c00.seed0": "is damaged or of another record",
        "triplet_q1.c00.seed1": "is missing",
        "triplet_q1.c00.seed2": "is damaged or of another record",
        "triplet_q1.c00.seed4": "is 0.380000, the record's mAP 0.500000",
        "triplet_q9.c00.seed0": "queries without their record",
    }
    assert list(why) == [f"records/{name}" for name in expected]
    assert [said for name, said in expected.items() if said not in why[f"records/{name}"]] == []
    assert results.queries.seeds("triplet_q1") == [3]
    assert results.queries.seeds("triplet_grid") == [0, 2, 3, 4]
    assert {trial.status for trial in results.trials} == {"completed"}
    assert status_lines(results) == ["6 files do not count; they are listed under “Not counted”."]


def test_without_files_there_are_no_queries_and_nothing_is_wrong(tmp_path: Path) -> None:
    results = read_results(make_out(tmp_path / "out", folds=1, arms=ARMS))
    assert results.problems == ()
    assert results.queries.found == {}
    assert results.queries.values("triplet_q1", METRICS["mAP"]).shape == (0, 0)
