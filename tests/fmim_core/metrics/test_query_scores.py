"""What is known of each query: its metrics, its nearest match, and the image found first."""

from itertools import permutations

import numpy as np
import pytest

from fmim_core.metric_names import METRICS
from fmim_core.metrics import retrieval, score_queries
from tests.oracles import retrieval as oracle
from tests.support.embeddings import ranked, scenario


@pytest.mark.parametrize("same_set", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_each_query_alone_scores_what_the_set_says_of_it(seed, tied, same_set):
    query, gallery, ids, image_ids, years = scenario(seed, tied, same_set)
    scores = score_queries(query, gallery, ids, image_ids, years, same_set)
    assert scores.means() == retrieval(query, gallery, ids, image_ids, years, same_set)
    for i in range(len(query)):
        others = [k for k in range(len(gallery)) if not (same_set and k == i)]
        hits = oracle.hits(query[i], gallery[others], image_ids[others] == ids[i])
        assert scores.matches[i] == sum(hits)
        assert scores.first_rank[i] == (hits.index(True) + 1 if any(hits) else 0)
        alone = oracle.retrieval(query[i : i + 1], gallery[others], ids[i : i + 1], image_ids[others])
        found = [scores.values[name][i] for name in METRICS]
        assert found == pytest.approx([alone[name] for name in METRICS], abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("same_set", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_match_and_the_image_found_first_are_named(seed, tied, same_set):
    query, gallery, ids, image_ids, _ = scenario(seed, tied, same_set)
    scores = score_queries(query, gallery, ids, image_ids, same_set=same_set, find_first=True)
    for i in range(len(query)):
        others = [k for k in range(len(gallery)) if not (same_set and k == i)]
        similarity = {k: oracle.cosine(query[i], gallery[k]) for k in others}
        matches = [k for k in others if image_ids[k] == ids[i]]
        if not matches:
            assert (scores.nearest_match[i], scores.first_found[i]) == (-1, -1)
            continue
        assert scores.nearest_match[i] in matches
        assert similarity[scores.nearest_match[i]] == pytest.approx(max(similarity[k] for k in matches), abs=1e-12)
        assert similarity[scores.first_found[i]] == pytest.approx(max(similarity.values()), abs=1e-12)
        assert (scores.first_found[i] == scores.nearest_match[i]) == (scores.first_rank[i] == 1)


def test_a_tie_for_the_first_place_names_the_other_identity():
    scores = score_queries(np.eye(2)[:1], np.eye(2)[[0, 1, 0]], [1], [1, 2, 3], find_first=True)
    assert (scores.nearest_match.tolist(), scores.first_found.tolist(), scores.first_rank.tolist()) == ([0], [2], [2])


def test_what_is_found_first_is_not_sought_unasked():
    assert score_queries(np.eye(2), np.eye(2), [0, 1], [0, 1]).first_found is None


# CMC over all shots ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "first_hit", "all_shots"),
    [([1, 1, 0], 1, 1), ([1, 0, 1], 1, 0.5), ([0, 1, 1], 0, 0), ([1, 0, 0], 1, 1), ([1, 1, 0, 1, 1], 1, 0.5)],
)
def test_all_shots_counts_every_match_with_nobody_else_before_it(pattern, first_hit, all_shots):
    result = retrieval(*ranked(pattern))
    assert (result["CMC_1"], result["CMC_1_all_shots"]) == (first_hit, all_shots)


@pytest.mark.parametrize(
    ("similarity", "is_match", "expected"),
    [
        ((0.9, 0.9, 0.5), (1, 0, 1), 0),
        ((0.9, 0.5, 0.5), (1, 1, 0), 0.5),
        ((0.5, 0.5, 0.5), (0, 1, 1), 0),
        ((0.9, 0.9, 0.5, 0.5), (1, 1, 0, 0), 1),
    ],
)
def test_all_shots_with_ties_and_two_matches_is_the_least_that_the_authors_sort_may_give(
    similarity, is_match, expected
):
    ranks = range(len(similarity))
    orders = [order for order in permutations(ranks) if all(np.diff(np.take(similarity, order)) <= 0)]
    theirs = {oracle.all_shots([bool(is_match[k]) for k in order]) for order in orders}
    gallery = np.stack([similarity, np.sqrt(1 - np.square(similarity))], axis=1)
    result = retrieval(np.eye(2)[:1], gallery, [1], list(is_match))
    assert result["CMC_1_all_shots"] == min(theirs) == expected
