"""The queries beside a replicate's record: worked out by hand, and equal to the record's metrics."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.data.image_set import ImageSet
from fmim_core.metric_names import INTERVALS, METRICS, YEAR
from fmim_core.metrics import score_queries
from fmim_core.records import QUERY_COLUMNS, Record, queries_path, read_queries, write_queries
from fmim_core.trial.queries import query_columns
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.mini_study import first_replicates, mini_plan

OTHERS = tuple(name for name in INTERVALS if name != YEAR.unit)
"""Columns of intervals that the phantom is not grouped by; nor has it views and knee replacements."""


@pytest.fixture(scope="module")
def replicate(tiny_bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Record]:
    """A folder with a replicate's files, and its record."""
    out = tmp_path_factory.mktemp("out")
    return out, Trial(first_replicates(mini_plan(), tiny_bank)[1], RunSettings(out, "cpu")).run()


def image_set() -> tuple[ImageSet, pd.DataFrame]:
    """Subjects a, b, c with a baseline and later visits; d has no baseline. All that is known of them beside it."""
    index = pd.DataFrame(
        {
            "image": [f"{name}.png" for name in ("a0", "b0", "c0", "a12", "a36", "b24", "d12")],
            "subject": ["a", "b", "c", "a", "a", "b", "d"],
            "side": "",
            "months": [0.0, 0.0, 0.0, 12.0, 36.0, 24.0, 12.0],
            "grade": ["0", "1", "", "0", "2", "", "4"],
            "row": range(10, 17),
        }
    )
    return ImageSet.of(index, np.zeros((20, 2, 2), np.uint8)), index


def test_ranks_and_rows_by_hand() -> None:
    #                            a       b       c       a12     a36       b24      d
    angles = torch.tensor([0.0, 1.0, 2.0, 0.1, 1.6, 1.1, 0.5])
    embeddings = torch.stack([angles.cos(), angles.sin()], dim=1)
    images, about = image_set()
    scores = score_queries(
        embeddings[3:], embeddings[:3], [0, 0, 1, 3], [0, 1, 2], query_years=[1, 3, 2, 1], find_first=True
    )
    found = pd.DataFrame(query_columns(images, about, scores))
    assert found["query"].tolist() == ["a12.png", "a36.png", "b24.png", "d12.png"]
    assert found["grade"].tolist() == ["0", "2", "", "4"]
    assert found["year"].tolist() == [1, 3, 2, 1]
    assert found["matches"].tolist() == [1, 1, 1, 0]
    # a at 36 months lies at 1.6: nearest are c (0.4 away) and b (0.6), its own baseline (1.6) is third.
    assert found["rank"].tolist()[:3] == [1, 3, 1]
    assert found["ap"].tolist()[:3] == [1, 1 / 3, 1]
    assert found["truth_row"].tolist()[:3] == [10, 10, 11]
    assert found["top_row"].tolist()[:3] == [10, 12, 11]
    assert found["query_row"].tolist() == [13, 14, 15, 16]
    assert found.loc[3, ["rank", "ap", "truth_row", "top_row"]].isna().all()


def test_every_metric_of_the_record_is_a_mean_over_its_queries(replicate: tuple[Path, Record]) -> None:
    out, record = replicate
    queries = read_queries(queries_path(out, record.trial), record.queries_sha256)
    test = record.metrics.test
    columns = {metric.name: metric.of_query for metric in METRICS.values()} | {"chance_mAP": "chance_ap"}
    years = sorted(set(queries["year"]))
    assert years == [1, 4]
    recomputed = {name: queries[column].mean() for name, column in columns.items()}
    for year in years:
        of_year = queries[queries["year"] == year]
        recomputed |= {YEAR.key(name, year): of_year[column].mean() for name, column in columns.items()}
        recomputed[YEAR.key("queries", year)] = float((of_year["matches"] > 0).sum())
    assert recomputed == pytest.approx({name: test[name] for name in recomputed}, abs=1e-12, rel=0)
    assert math.isclose(recomputed["mAP"], test["mAP"], abs_tol=1e-15)
    assert len(queries) == test["queries"] + test["queries_without_match"]


def test_the_file_has_the_columns_of_the_index(replicate: tuple[Path, Record], tiny_bank: Bank) -> None:
    out, record = replicate
    queries = read_queries(queries_path(out, record.trial), record.queries_sha256)
    assert list(queries) == [name for name in QUERY_COLUMNS if name not in ("view", "tkr", *OTHERS)]
    index = tiny_bank.about_test()
    index = index[index["months"] > 0].reset_index(drop=True)
    for name in ("subject", "side", "months", "sex", "age", "disease", "grade"):
        assert queries[name].tolist() == index[name].tolist()
    assert queries["query"].tolist() == index["image"].tolist()
    assert queries["query_row"].tolist() == index["row"].astype(int).tolist()


def test_the_same_trial_writes_the_same_bytes(replicate: tuple[Path, Record], tiny_bank: Bank, tmp_path: Path) -> None:
    out, record = replicate
    again = Trial(first_replicates(mini_plan(), tiny_bank)[1], RunSettings(tmp_path, "cpu")).run()
    assert again.queries_sha256 == record.queries_sha256
    assert queries_path(tmp_path, again.trial).read_bytes() == queries_path(out, record.trial).read_bytes()


def test_a_file_that_is_not_the_records_is_refused(replicate: tuple[Path, Record], tmp_path: Path) -> None:
    out, record = replicate
    path = tmp_path / "x.queries.parquet"
    with pytest.raises(ValueError, match=r"^x\.queries\.parquet is missing$"):
        read_queries(path, record.queries_sha256)
    content = bytearray(queries_path(out, record.trial).read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged or not this record's"):
        read_queries(path, record.queries_sha256)


def test_a_file_of_other_columns_is_refused(tmp_path: Path) -> None:
    columns = {name: ["", ""] if column.type == "string" else np.zeros(2) for name, column in QUERY_COLUMNS.items()}
    sha256, path = write_queries(tmp_path, "a", columns), queries_path(tmp_path, "a")
    with pytest.raises(ValueError, match="its columns day, week, month, year are not as here"):
        read_queries(path, sha256)
    sha256 = write_queries(tmp_path, "a", {name: values for name, values in columns.items() if name not in OTHERS})
    assert len(read_queries(path, sha256)) == 2
    parquet.write_table(parquet.read_table(path).drop_columns(["ap"]), path)
    with pytest.raises(ValueError, match="written by another version: its columns ap are not as here"):
        read_queries(path, hashlib.sha256(path.read_bytes()).hexdigest())
