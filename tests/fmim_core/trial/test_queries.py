"""The queries beside a replicate's record: by hand, by the oracle, and equal to the metrics of the record."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest
import torch
from numpy.typing import NDArray

from fmim_core.data.bank.bank import Bank
from fmim_core.data.image_set import ImageSet
from fmim_core.metric_names import INTERVALS, METRICS, YEAR, Interval
from fmim_core.metrics import score_queries
from fmim_core.records import QUERY_COLUMNS, Record, queries_path, read_queries, write_queries
from fmim_core.references.pixels import Pixels
from fmim_core.trial.trial import RunSettings, Trial, query_columns
from tests.conftest import tiny_config
from tests.oracles import retrieval as oracle
from tests.support.mini_study import first_replicates, mini_plan

OTHERS = tuple(name for name in INTERVALS if name != YEAR.unit)
"""Columns of intervals that the phantom is not grouped by; nor has it views and knee replacements."""
SIDE, SUBJECTS, WEEK = 24, ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + ["d"], INTERVALS["week"]


@pytest.fixture(scope="module")
def replicate(tiny_bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Record]:
    """A folder with a replicate's files, and its record."""
    out = tmp_path_factory.mktemp("out")
    return out, Trial(first_replicates(mini_plan(), tiny_bank)[1], RunSettings(out, "cpu")).run()


def test_ranks_and_rows_by_hand() -> None:
    """Subjects a, b, c with a baseline and later visits; d has no baseline."""
    names = ("a12", "a0", "b0", "c0", "a36", "b24", "d12")
    months, grades = [float(name[1:]) for name in names], ["0", "0", "1", "", "2", "", "4"]
    index = {"image": [f"{name}.png" for name in names], "subject": [name[0] for name in names], "side": ""}
    about = pd.DataFrame(index | {"months": months, "grade": grades, "row": range(10, 17)})
    images = ImageSet.of(about, np.zeros((20, 2, 2), np.uint8))
    angles = torch.tensor([0.1, 0.0, 1.0, 2.0, 1.6, 1.1, 0.5])
    embeddings = torch.stack([angles.cos(), angles.sin()], dim=1)
    scores = score_queries(
        embeddings[[0, 4, 5, 6]], embeddings[1:4], [0, 0, 1, 3], [0, 1, 2], query_years=[1, 3, 2, 1], find_first=True
    )
    found = pd.DataFrame(query_columns(images, about, scores))
    assert found["query"].tolist() == ["a12.png", "a36.png", "b24.png", "d12.png"]
    assert found["grade"].tolist() == ["0", "2", "", "4"]
    assert found["year"].tolist() == [1, 3, 2, 1]
    assert found["matches"].tolist() == [1, 1, 1, 0]
    # a at 36 months lies at 1.6: nearest are c (0.4 away) and b (0.6), its own baseline (1.6) is third.
    assert found["rank"].tolist()[:3] == [1, 3, 1]
    assert found["ap"].tolist()[:3] == [1, 1 / 3, 1]
    assert found["truth_row"].tolist()[:3] == [11, 11, 12]
    assert found["top_row"].tolist()[:3] == [11, 13, 12]
    assert found["query_row"].tolist() == [10, 14, 15, 16]
    assert found.loc[3, ["rank", "ap", "truth_row", "top_row"]].isna().all()


def test_every_metric_of_the_record_is_a_mean_over_its_queries(replicate: tuple[Path, Record]) -> None:
    out, record = replicate
    queries = read_queries(queries_path(out, record.trial), record.queries_sha256)
    test = record.metrics.test
    columns = {metric.name: metric.of_query for metric in METRICS.values()} | {"chance_mAP": "chance_ap"}
    assert set(queries["year"]) == {1, 4}
    recomputed = {name: queries[column].mean() for name, column in columns.items()}
    for year in (1, 4):
        of_year = queries[queries["year"] == year]
        recomputed |= {YEAR.key(name, year): of_year[column].mean() for name, column in columns.items()}
        recomputed[YEAR.key("queries", year)] = float((of_year["matches"] > 0).sum())
    assert recomputed == pytest.approx({name: test[name] for name in recomputed}, abs=1e-12, rel=0)
    assert len(queries) == test["queries"] + test["queries_without_match"]


def test_the_file_has_the_columns_of_the_index_and_always_the_same_bytes(
    replicate: tuple[Path, Record], tiny_bank: Bank, tmp_path: Path
) -> None:
    out, record = replicate
    queries = read_queries(queries_path(out, record.trial), record.queries_sha256)
    assert list(queries) == [name for name in QUERY_COLUMNS if name not in ("view", "tkr", *OTHERS)]
    index = tiny_bank.about_test()
    index = index[index["months"] > 0].reset_index(drop=True)
    for name in ("subject", "side", "months", "sex", "age", "disease", "grade"):
        assert queries[name].tolist() == index[name].tolist()
    assert queries["query"].tolist() == index["image"].tolist()
    assert queries["query_row"].tolist() == index["row"].astype(int).tolist()
    again = Trial(first_replicates(mini_plan(), tiny_bank)[1], RunSettings(tmp_path, "cpu")).run()
    assert again.queries_sha256 == record.queries_sha256
    assert queries_path(tmp_path, again.trial).read_bytes() == queries_path(out, record.trial).read_bytes()


def test_a_file_that_is_not_the_records_or_of_other_columns_is_refused(
    replicate: tuple[Path, Record], tmp_path: Path
) -> None:
    out, record = replicate
    path = tmp_path / "x.queries.parquet"
    with pytest.raises(ValueError, match=r"^x\.queries\.parquet is missing$"):
        read_queries(path, record.queries_sha256)
    content = bytearray(queries_path(out, record.trial).read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged or of another record"):
        read_queries(path, record.queries_sha256)
    columns = {name: ["", ""] if column.type == "string" else np.zeros(2) for name, column in QUERY_COLUMNS.items()}
    sha256, path = write_queries(tmp_path, "a", columns), queries_path(tmp_path, "a")
    with pytest.raises(ValueError, match="day, week, month, year"):
        read_queries(path, sha256)
    sha256 = write_queries(tmp_path, "a", {name: values for name, values in columns.items() if name not in OTHERS})
    assert len(read_queries(path, sha256)) == 2
    parquet.write_table(parquet.read_table(path).drop_columns(["ap"]), path)
    with pytest.raises(ValueError, match="written by another version: its columns ap differ"):
        read_queries(path, hashlib.sha256(path.read_bytes()).hexdigest())


# An index with roles --------------------------------------------------------------------------------------------------


def image_set(roles: list[str], months: list[float], interval: Interval = YEAR) -> tuple[ImageSet, pd.DataFrame]:
    """Ten noisy images of four subjects, and all that is known of them beside them."""
    draw = np.random.default_rng(1)
    own = {name: draw.random((SIDE, SIDE)) for name in "abcd"}
    pixels = [255 * (0.15 * own[name] + 0.85 * draw.random((SIDE, SIDE))) for name in SUBJECTS]
    index = pd.DataFrame({"subject": SUBJECTS, "side": "", "months": months, "role": roles, "row": range(10)})
    index["image"] = [f"{row}.png" for row in index["row"]]
    return ImageSet.of(index, np.array(pixels).astype(np.uint8), interval), index


def vectors(images: ImageSet) -> NDArray[np.float64]:
    return images.images[images.rows].reshape(len(images), -1) / 255.0


def evaluated(images: ImageSet) -> dict[str, float]:
    return Pixels().evaluator(tiny_config(), images, 0, torch.device("cpu")).evaluate(images)


def test_every_image_of_the_role_both_is_searched_for_among_all_others() -> None:
    roles = ["both"] * 6 + [""] + ["both"] * 3  # the third of b is trained on alone
    images, _ = image_set(roles, [np.nan] * 10)
    used = images.roles == "both"
    searched, names = vectors(images)[used], images.subjects[used]
    expected, found = oracle.retrieval(searched, searched, names, names, same_set=True), evaluated(images)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert (found["queries"], found["queries_without_match"], found["gallery"]) == (8, 1, 9)
    assert not [name for name in found if "/" in name], "without months there is nothing to group by"


def test_gallery_and_queries_are_what_the_table_says_and_grouped_by_its_interval() -> None:
    roles = ["gallery", "query", "query", "", "query", "gallery", "query", "gallery", "gallery", "query"]
    days = np.array([0, 2, np.nan, 5, 18, 0, 0, 0, 3, 24])
    images, _ = image_set(roles, list(days / 30.4375), WEEK)
    query, gallery = images.query_mask, images.gallery_mask
    data = vectors(images)[query], vectors(images)[gallery], images.subjects[query], images.subjects[gallery]
    pooled, by_year = oracle.retrieval(*data), oracle.retrieval(*data, query_years=[1, 99, 3, 1, 3])
    expected = pooled | {k.replace("year", "week"): value for k, value in by_year.items() if "year_99" not in k}
    means = {name: value for name, value in evaluated(images).items() if not name.startswith("chance_mAP")}
    assert means == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert (means["queries/week_1"], means["queries/week_3"], means["queries_without_match/week_3"]) == (2, 1, 1)
    assert (means["queries"], means["queries_without_match"]) == (4, 1), "one of them at no known time"


def test_the_columns_of_queries_have_no_time_where_it_is_unknown_and_never_the_query_itself(tmp_path: Path) -> None:
    images, index = image_set(["both"] * 9 + [""], [0.0, 0.5, np.nan, *[2.0] * 7], WEEK)
    embeddings, names = torch.from_numpy(vectors(images)[:9]), images.subjects[:9]
    asked = {"same_set": True, "find_first": True, "interval": WEEK}
    scores = score_queries(embeddings, embeddings, names, names, images.times[:9], **asked)
    sha256 = write_queries(tmp_path, "t", query_columns(images, index, scores))
    found = read_queries(queries_path(tmp_path, "t"), sha256)
    assert "year" not in found
    assert found["week"].isna().tolist() == found["months"].isna().tolist() == [n == 2 for n in range(9)]
    assert found["week"].dropna().tolist() == [1, 2, *[9] * 6]
    assert found["matches"].tolist() == [3] * 4 + [2] * 3 + [1] * 2
    for row in range(9):
        alike = {k: oracle.cosine(vectors(images)[row], vectors(images)[k]) for k in range(9) if k != row}
        nearest = max((k for k in alike if SUBJECTS[k] == SUBJECTS[row]), key=lambda k: alike[k])
        assert (found["truth_row"][row], found["top_row"][row]) == (nearest, max(alike, key=lambda k: alike[k]))
