"""Evaluation by roles: the metrics are the oracle's, and the columns of queries say what was found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray

from fmim_core.data.image_set import ImageSet
from fmim_core.metric_names import INTERVALS, YEAR, Interval
from fmim_core.metrics import score_queries
from fmim_core.records import queries_path, read_queries, write_queries
from fmim_core.references.pixels import Pixels
from fmim_core.training.evaluation import Evaluator
from fmim_core.trial.queries import query_columns
from tests.conftest import tiny_config
from tests.oracles import retrieval as oracle

SIDE = 24
SUBJECTS = ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + ["d"]
WEEK = INTERVALS["week"]


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


def evaluator() -> Evaluator:
    return Pixels().evaluator(tiny_config(), image_set([""] * 10, [0.0] * 10)[0], 0, torch.device("cpu"))


def test_every_image_of_the_role_both_is_searched_for_among_all_others() -> None:
    roles = ["both"] * 6 + [""] + ["both"] * 3  # the third of b is trained on alone
    images, _ = image_set(roles, [np.nan] * 10)
    used = images.roles == "both"
    searched, names = vectors(images)[used], images.subjects[used]
    expected = oracle.retrieval(searched, searched, names, names, same_set=True)
    found = evaluator().evaluate(images)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert (found["queries"], found["queries_without_match"], found["gallery"]) == (8, 1, 9)
    assert 0.2 < found["mAP"] < 0.95
    assert not [name for name in found if "/" in name], "without months there is nothing to group by"


def test_gallery_and_queries_are_what_the_table_says_and_grouped_by_its_interval() -> None:
    roles = ["gallery", "query", "query", "", "query", "gallery", "query", "gallery", "gallery", "query"]
    days = np.array([0, 2, np.nan, 5, 18, 0, 0, 0, 3, 24])
    images, _ = image_set(roles, list(days / 30.4375), WEEK)
    query, gallery = images.query_mask, images.gallery_mask
    data = vectors(images)[query], vectors(images)[gallery], images.subjects[query], images.subjects[gallery]
    pooled, by_year = oracle.retrieval(*data), oracle.retrieval(*data, query_years=[1, 99, 3, 1, 3])
    found = evaluator().evaluate(images)
    expected = pooled | {
        name.replace("year", "week"): value for name, value in by_year.items() if "year_99" not in name
    }
    means = {name: value for name, value in found.items() if not name.startswith("chance_mAP")}
    assert means == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert (found["queries/week_1"], found["queries/week_3"], found["queries_without_match/week_3"]) == (2, 1, 1)
    assert (found["queries"], found["queries_without_match"]) == (4, 1), "one of them at no known time"


def test_the_columns_of_queries_have_no_time_where_it_is_unknown_and_never_the_query_itself(tmp_path: Path) -> None:
    images, index = image_set(["both"] * 9 + [""], [0.0, 0.5, np.nan, *[2.0] * 7], WEEK)
    embeddings = torch.from_numpy(vectors(images)[:9])
    names = images.subjects[:9]
    scores = score_queries(
        embeddings, embeddings, names, names, images.times[:9], same_set=True, find_first=True, interval=WEEK
    )
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
