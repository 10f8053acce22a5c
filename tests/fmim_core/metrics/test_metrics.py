"""Retrieval metrics against a slow oracle, published definitions, other libraries, and hand-computed values."""

import math

import numpy as np
import pytest
import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN
from sklearn.metrics import average_precision_score

from fmim_core.metric_names import METRICS, split_key
from fmim_core.metrics import retrieval
from fmim_core.metrics.exact import ExactVectors
from fmim_core.metrics.ranks import MANY, Matches
from fmim_core.metrics.scores import scores_by_tiles
from tests.oracles import retrieval as oracle
from tests.support.embeddings import by_names, clustered, equal, ranked, scenario

# Agreement with the oracle --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("same_set", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_agrees_with_the_oracle(seed, tied, same_set):
    data = scenario(seed, tied, same_set)
    result = retrieval(*data, same_set=same_set)
    expected = oracle.retrieval(*data, same_set=same_set)
    equal({key: value for key, value in result.items() if split_key(key)[0] != "chance_mAP"}, expected, 1e-9)


def test_the_scenarios_cover_ties_and_queries_without_a_match():
    query, gallery, ids, image_ids, years = scenario(3, tied=True)
    assert retrieval(query, gallery, ids, image_ids, years)["queries_without_match"] > 0
    similarities = [[oracle.cosine(q, g) for g in gallery] for q in query]
    assert all(len(set(row)) < len(row) / 2 for row in similarities)


@pytest.mark.parametrize("same_set", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("tile", [(1, 1), (3, 3), (1, 100), (100, 1), (7, 30)])
def test_the_block_size_does_not_matter(tile, tied, same_set):
    query, gallery, ids, image_ids, _ = scenario(5, tied, same_set)
    vectors = [ExactVectors.of(torch.from_numpy(side), double=True) for side in (query, gallery)]
    matches = Matches.find(ids, image_ids, same_set)
    blocked, whole = (scores_by_tiles(*vectors, matches, size) for size in (tile, (1000, 1000)))
    for name in METRICS:
        np.testing.assert_allclose(blocked.values[name], whole.values[name], rtol=0, atol=1e-15)


@pytest.mark.parametrize(("queries", "gallery", "identities"), [(3, 600, 2), (2, 2500, 12)])  # one tile, several
@pytest.mark.parametrize("tied", [False, True])
def test_identities_with_many_images_are_sorted_instead_of_compared(tied, queries, gallery, identities):
    data = scenario(2, tied, queries=queries, gallery=gallery, identities=identities)
    assert np.bincount(data[3])[data[2][data[2] < identities]].max() > MANY
    result, expected = retrieval(*data), oracle.retrieval(*data)
    equal({key: result[key] for key in expected}, expected, 1e-9)


# Definitions ----------------------------------------------------------------------------------------------------------


def test_hand_computed_example():
    result = retrieval(*ranked([1, 0, 1, 0, 0, 1]))
    assert result == pytest.approx(
        {
            "mAP": (1 + 2 / 3 + 3 / 6) / 3,
            "mAP_at_R": (1 + 2 / 3) / 3,
            "CMC_1": 1.0,
            "CMC_5": 1.0,
            "CMC_10": 1.0,  # cut to the 6 images there are
            "CMC_1_all_shots": 1 / 3,
            "chance_mAP": (2.45 + 2 / 5 * (6 - 2.45)) / 6,
            "queries": 1.0,
            "queries_without_match": 0.0,
            "gallery": 6.0,
        },
        abs=1e-15,
    )
    late = retrieval(*ranked([0, 1, 0, 0, 0, 0]))
    assert [late[name] for name in METRICS] == [0.5, 0.0, 0.0, 1.0, 1.0, 0.0]


def test_by_year_pools_to_the_whole_and_lists_only_years_present():
    query, gallery, ids, image_ids = clustered(30, 40, 10)
    years = np.where(np.arange(30) < 12, 4, 7)
    result = retrieval(query, gallery, ids, image_ids, years)
    assert {split_key(key)[1] for key in result} == {None, 4, 7}
    assert (result["queries/year_4"], result["queries/year_7"], result["queries"]) == (12, 18, 30)
    for name in METRICS:
        assert 12 * result[f"{name}/year_4"] + 18 * result[f"{name}/year_7"] == pytest.approx(30 * result[name])
    equal({name: result[f"{name}/year_4"] for name in METRICS}, by_names(query[:12], gallery, ids[:12], image_ids))


def test_queries_without_a_match_are_counted_and_change_no_mean():
    query, gallery, ids, image_ids = clustered(10, 20, 5)
    extra = retrieval(torch.cat([query, gallery[:3]]), gallery, [*ids.tolist(), 77, 78, 79], image_ids)
    assert (extra["queries"], extra["queries_without_match"]) == (10, 3)
    equal({name: extra[name] for name in METRICS}, by_names(query, gallery, ids, image_ids))


def test_nothing_to_score_is_not_a_number():
    result = retrieval(torch.ones(2, 3), torch.ones(4, 3), [8, 9], [0, 1, 2, 3], [1, 2])
    assert all(math.isnan(result[name]) for name in (*METRICS, "chance_mAP", "mAP/year_2"))
    assert (result["queries"], result["queries_without_match"], result["queries/year_2"]) == (0, 2, 0)
    assert math.isnan(retrieval(torch.ones(1, 3), torch.ones(1, 3), [5], [5], same_set=True)["mAP"])
    nobody = retrieval(torch.ones(0, 3), torch.ones(1, 3), [], ["a"])
    assert math.isnan(nobody["mAP"])
    assert nobody["queries"] == 0


def test_chance_is_the_mean_over_all_rankings():
    for candidates in range(1, 9):
        for relevant in range(1, candidates + 1):
            pattern = [1] * relevant + [0] * (candidates - relevant)
            expected = float(oracle.expected_average_precision(relevant, candidates))
            assert retrieval(*ranked(pattern))["chance_mAP"] == pytest.approx(expected, abs=1e-14)


def test_chance_of_one_set_counts_the_images_but_the_query():
    vectors, ids = torch.eye(5), [1, 1, 1, 2, 2]
    expected = [oracle.expected_average_precision(relevant, 4) for relevant in (2, 2, 2, 1, 1)]
    assert retrieval(vectors, vectors, ids, ids, same_set=True)["chance_mAP"] == pytest.approx(float(sum(expected)) / 5)


# Other libraries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("same_set", [False, True])
def test_agrees_with_pytorch_metric_learning_on_untied_data(same_set):
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


def test_agrees_with_scikit_learn_on_untied_data():
    query, gallery, ids, image_ids = clustered(50, 300, 25)
    similarities = torch.nn.functional.cosine_similarity(query[:, None].double(), gallery.double(), dim=2)
    expected = [average_precision_score(image_ids == i, row) for i, row in zip(ids, similarities, strict=True)]
    assert retrieval(query, gallery, ids, image_ids)["mAP"] == pytest.approx(np.mean(expected), abs=1e-12)


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
        ({"query_ids": [1, 2]}, r"query_ids: expected one for each of 3 embeddings, got shape \(2,\)"),
        ({"gallery_ids": [[1], [2]]}, r"gallery_ids: expected one for each of 2"),
        ({"query_years": [1, 2]}, r"query_years: expected one for each of 3"),
        ({"query_years": [1, 2, math.nan]}, r"query_years: expected whole numbers, got .*nan"),
        ({"query_ids": [1.5, 2, 3]}, r"query_ids: expected whole numbers, or all strings"),
        ({"query_ids": np.array(["a", None, "b"], dtype=object)}, r"query_ids: expected whole numbers, or all strings"),
        ({"query_ids": ["1", "2", "3"]}, r"query_ids are <U1, gallery_ids int64: none could match"),
        ({"same_set": True}, r"same_set=True needs query i to be gallery image i, got 3 and 2"),
    ],
)
def test_bad_input_is_named(change, message):
    good = {"query": torch.ones(3, 2), "gallery": torch.ones(2, 2), "query_ids": [1, 2, 3], "gallery_ids": [1, 2]}
    with pytest.raises(ValueError, match=message):
        retrieval(**good | change)


def test_one_set_has_one_list_of_identities():
    with pytest.raises(ValueError, match="they name the same images"):
        retrieval(torch.ones(2, 2), torch.ones(2, 2), [1, 2], [2, 1], same_set=True)
