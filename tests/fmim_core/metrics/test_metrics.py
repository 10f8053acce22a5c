"""Retrieval metrics against a slow oracle, published definitions, other libraries, and hand-computed values."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN

from fmim_core.metric_names import METRICS, split_key
from fmim_core.metrics import retrieval, score_queries
from fmim_core.metrics.ranks import MANY, ExactVectors, Matches
from fmim_core.metrics.scores import scores_by_tiles
from tests.oracles import retrieval as oracle
from tests.support.embeddings import by_names, clustered, equal, ranked, scenario

either = pytest.mark.parametrize("same_set", [False, True])
ties = pytest.mark.parametrize("tied", [False, True])

# Agreement with the oracle --------------------------------------------------------------------------------------------


@either
@ties
@pytest.mark.parametrize("seed", range(15))
def test_the_set_and_each_query_agree_with_the_oracle(seed: int, tied: bool, same_set: bool) -> None:
    query, gallery, ids, image_ids, _ = data = scenario(seed, tied, same_set)
    scores = score_queries(*data, same_set, find_first=True)
    result, expected = scores.means(), oracle.retrieval(*data, same_set=same_set)
    equal({key: value for key, value in result.items() if split_key(key)[0] != "chance_mAP"}, expected, 1e-9)
    if seed > 3:
        return
    for i in range(len(query)):
        others = [k for k in range(len(gallery)) if not (same_set and k == i)]
        alone = oracle.retrieval(query[i : i + 1], gallery[others], ids[i : i + 1], image_ids[others])
        found = [scores.values[name][i] for name in METRICS]
        assert found == pytest.approx([alone[name] for name in METRICS], abs=1e-9, nan_ok=True)
        hits = oracle.hits(query[i], gallery[others], image_ids[others] == ids[i])
        assert scores.matches[i] == sum(hits)
        assert scores.first_rank[i] == (hits.index(True) + 1 if any(hits) else 0)
        if not any(hits):
            assert (scores.nearest_match[i], scores.first_found[i]) == (-1, -1)
            continue
        similarity = {k: oracle.cosine(query[i], gallery[k]) for k in others}
        nearest = max(similarity[k] for k in others if image_ids[k] == ids[i])
        assert image_ids[scores.nearest_match[i]] == ids[i]
        assert similarity[scores.nearest_match[i]] == pytest.approx(nearest, abs=1e-12)
        assert similarity[scores.first_found[i]] == pytest.approx(max(similarity.values()), abs=1e-12)
        assert (scores.first_found[i] == scores.nearest_match[i]) == (scores.first_rank[i] == 1)


def test_the_scenarios_cover_ties_and_queries_without_a_match() -> None:
    query, gallery, ids, image_ids, years = scenario(3, tied=True)
    assert retrieval(query, gallery, ids, image_ids, years)["queries_without_match"] > 0
    similarities = [[oracle.cosine(q, g) for g in gallery] for q in query]
    assert all(len(set(row)) < len(row) / 2 for row in similarities)


@either
@ties
@pytest.mark.parametrize("tile", [(1, 1), (3, 3), (1, 100), (100, 1), (7, 30)])
def test_the_block_size_does_not_matter(tile: tuple[int, int], tied: bool, same_set: bool) -> None:
    query, gallery, ids, image_ids, _ = scenario(5, tied, same_set)
    vectors = [ExactVectors.of(torch.from_numpy(side), double=True) for side in (query, gallery)]
    matches = Matches.find(ids, image_ids, same_set)
    blocked, whole = (scores_by_tiles(*vectors, matches, size) for size in (tile, (1000, 1000)))
    for name in METRICS:
        np.testing.assert_allclose(blocked.values[name], whole.values[name], rtol=0, atol=1e-15)


@pytest.mark.parametrize(("queries", "gallery", "identities"), [(3, 600, 2), (2, 2500, 12)])  # one tile, several
@ties
def test_identities_with_many_images_are_sorted_instead_of_compared(
    tied: bool, queries: int, gallery: int, identities: int
) -> None:
    data = scenario(2, tied, queries=queries, gallery=gallery, identities=identities)
    assert np.bincount(data[3])[data[2][data[2] < identities]].max() > MANY
    result, expected = retrieval(*data), oracle.retrieval(*data)
    equal({key: result[key] for key in expected}, expected, 1e-9)


# Definitions ----------------------------------------------------------------------------------------------------------


def test_hand_computed_example() -> None:
    result = retrieval(*ranked([1, 0, 1, 0, 0, 1]))
    means = {"mAP": (1 + 2 / 3 + 3 / 6) / 3, "mAP_at_R": (1 + 2 / 3) / 3, "chance_mAP": (2.45 + 2 / 5 * 3.55) / 6}
    hits = {"CMC_1": 1.0, "CMC_5": 1.0, "CMC_10": 1.0, "CMC_1_all_shots": 1 / 3}  # of 6 images
    counts = {"queries": 1.0, "queries_without_match": 0.0, "gallery": 6.0}
    assert result == pytest.approx(means | hits | counts, abs=1e-15)
    late = retrieval(*ranked([0, 1, 0, 0, 0, 0]))
    assert [late[name] for name in METRICS] == [0.5, 0.0, 0.0, 1.0, 1.0, 0.0]


def test_queries_without_a_match_are_counted_and_change_no_mean() -> None:
    query, gallery, ids, image_ids = clustered(10, 20, 5)
    extra = retrieval(torch.cat([query, gallery[:3]]), gallery, [*ids.tolist(), 77, 78, 79], image_ids)
    assert (extra["queries"], extra["queries_without_match"]) == (10, 3)
    equal({name: extra[name] for name in METRICS}, by_names(query, gallery, ids, image_ids))
    nothing = retrieval(torch.ones(2, 3), torch.ones(4, 3), [8, 9], [0, 1, 2, 3], [1, 2])
    assert all(math.isnan(nothing[name]) for name in (*METRICS, "chance_mAP", "mAP/year_2"))
    assert (nothing["queries"], nothing["queries_without_match"], nothing["queries/year_2"]) == (0, 2, 0)
    assert math.isnan(retrieval(torch.ones(1, 3), torch.ones(1, 3), [5], [5], same_set=True)["mAP"])
    assert retrieval(torch.ones(0, 3), torch.ones(1, 3), [], ["a"])["queries"] == 0


def test_chance_is_the_mean_over_all_rankings() -> None:
    for candidates in range(1, 9):
        for relevant in range(1, candidates + 1):
            pattern = [1] * relevant + [0] * (candidates - relevant)
            expected = float(oracle.expected_average_precision(relevant, candidates))
            assert retrieval(*ranked(pattern))["chance_mAP"] == pytest.approx(expected, abs=1e-14)
    vectors, ids = torch.eye(5), [1, 1, 1, 2, 2]  # of one set the query itself is no candidate
    expected = float(sum(oracle.expected_average_precision(relevant, 4) for relevant in (2, 2, 2, 1, 1))) / 5
    assert retrieval(vectors, vectors, ids, ids, same_set=True)["chance_mAP"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("similarity", "is_match", "expected"),
    [
        ((0.9, 0.8, 0.7), (1, 1, 0), 1),
        ((0.9, 0.8, 0.7), (1, 0, 1), 0.5),
        ((0.9, 0.8, 0.7), (0, 1, 1), 0),
        ((0.9, 0.9, 0.5), (1, 0, 1), 0),
        ((0.9, 0.5, 0.5), (1, 1, 0), 0.5),
        ((0.5, 0.5, 0.5), (0, 1, 1), 0),
        ((0.9, 0.9, 0.5, 0.5), (1, 1, 0, 0), 1),
    ],
)
def test_all_shots_counts_every_match_with_nobody_else_before_it_and_of_ties_the_worst_order(
    similarity: tuple[float, ...], is_match: tuple[int, ...], expected: float
) -> None:
    ranks = range(len(similarity))
    orders = [order for order in permutations(ranks) if all(np.diff(np.take(similarity, order)) <= 0)]
    theirs = {oracle.all_shots([bool(is_match[k]) for k in order]) for order in orders}
    gallery = np.stack([similarity, np.sqrt(1 - np.square(similarity))], axis=1)
    result = retrieval(np.eye(2)[:1], gallery, [1], list(is_match))
    assert result["CMC_1_all_shots"] == min(theirs) == expected


def test_a_tie_for_the_first_place_names_the_other_identity() -> None:
    scores = score_queries(np.eye(2)[:1], np.eye(2)[[0, 1, 0]], [1], [1, 2, 3], find_first=True)
    assert (scores.nearest_match.tolist(), scores.first_found.tolist(), scores.first_rank.tolist()) == ([0], [2], [2])
    assert score_queries(np.eye(2), np.eye(2), [0, 1], [0, 1]).first_found is None  # unasked


# Other libraries ------------------------------------------------------------------------------------------------------


@either
def test_agrees_with_pytorch_metric_learning_on_untied_data(same_set: bool) -> None:
    query, gallery, ids, image_ids = clustered(200, 300, 40)
    data = (gallery, gallery, image_ids, image_ids) if same_set else (query, gallery, ids, image_ids)
    calculator = AccuracyCalculator(
        include=("mean_average_precision_at_r", "mean_average_precision", "precision_at_1"),
        knn_func=CustomKNN(CosineSimilarity()),
        kmeans_func=lambda *_: None,
        device=torch.device("cpu"),
    )
    expected = calculator.get_accuracy(data[0], data[2], data[1], data[3], ref_includes_query=same_set)
    result = retrieval(*data, same_set=same_set)
    assert result["mAP_at_R"] == pytest.approx(expected["mean_average_precision_at_r"], abs=1e-12)
    assert result["mAP"] == pytest.approx(expected["mean_average_precision"], abs=1e-12)
    assert result["CMC_1"] == pytest.approx(expected["precision_at_1"], abs=1e-12)


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": torch.tensor([[0.0, math.nan], [1, 1], [math.nan, 1]])}, r"NaN in embeddings: 2 of 3 query rows"),
        ({"gallery": np.array([[0.0, 1.0], [-math.inf, 2]])}, r"inf in embeddings: 1 of 2 gallery rows"),
        ({"gallery": torch.ones(2, 3)}, r"query has 2 dimensions, gallery 3"),
        ({"query": torch.ones(3)}, r"query: embeddings must be .* got torch.float32 of shape \(3,\)"),
        ({"query": torch.ones(3, 2, dtype=torch.int64)}, r"got torch.int64"),
        ({"gallery": torch.ones(0, 2), "gallery_ids": []}, r"the gallery is empty"),
        ({"query_ids": [1, 2]}, r"query_ids: .* each of 3 .* shape \(2,\)"),
        ({"gallery_ids": [[1], [2]]}, r"gallery_ids: .* each of 2"),
        ({"query_years": [1, 2]}, r"query_years: .* each of 3"),
        ({"query_years": [1, 2, math.nan]}, r"query_years: expected whole numbers, got .*nan"),
        ({"query_ids": [1.5, 2, 3]}, r"query_ids: expected whole numbers, or all strings"),
        ({"query_ids": np.array(["a", None, "b"], dtype=object)}, r"query_ids: expected whole numbers, or all strings"),
        ({"query_ids": ["1", "2", "3"]}, r"query_ids are <U1, gallery_ids int64"),
        ({"same_set": True}, r"same_set=True .* got 3 and 2"),
        ({"same_set": True, "query": torch.ones(2, 2), "query_ids": [2, 1]}, "same_set=True .* name the same images"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    good = {"query": torch.ones(3, 2), "gallery": torch.ones(2, 2), "query_ids": [1, 2, 3], "gallery_ids": [1, 2]}
    with pytest.raises(ValueError, match=message):
        retrieval(**good | change)
