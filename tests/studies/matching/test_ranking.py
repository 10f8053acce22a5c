"""Ranking by given embeddings: order, ties, and who is a candidate."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fmim.matching.images import GivenImages
from fmim.matching.model import Ranking, rank_gallery
from fmim_core.metrics import score_queries


def images(names: str, subjects: str = "", places: str = "", sides: str = "") -> GivenImages:
    """An image a letter; nothing is read of it."""
    about = pd.DataFrame({"image": list(names)})
    if subjects:
        about = about.assign(subject=list(subjects), side=list(sides) or "", months=0.0)
    return GivenImages("letters", about, lambda row, size: np.zeros((size, size)), pd.Series(list(places or names)), 1)


def at(*degrees: float) -> np.ndarray:
    """Unit vectors in a plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def order(ranking: Ranking) -> list[str]:
    """The candidates of each query, by their names."""
    return ["".join(part["candidate"]) for _, part in ranking.table().groupby("query", sort=False)]


def test_candidates_fall_in_similarity() -> None:
    found = rank_gallery(images("qp"), images("abcd"), (at(0, 90), at(80, -10, 180, 45)), per_side=False, top=None)
    assert order(found) == ["bdac", "adcb"]
    table = found.table()
    assert list(table) == ["query", "rank", "candidate", "similarity"]
    assert table["rank"].tolist() == [1, 2, 3, 4] * 2
    np.testing.assert_allclose(table["similarity"][:4], np.cos(np.radians([10, 45, 80, 180])), atol=1e-7)
    assert not found.known
    assert found.first_matches == [None, None]


def test_of_equally_similar_images_the_matches_stand_last_and_the_others_in_their_order() -> None:
    embeddings = (at(0), at(0, 0, 30, 0, 0, -5))
    known = rank_gallery(images("q", "x"), images("abcdef", "xyxzxy"), embeddings, per_side=False, top=None)
    assert order(known) == ["bdaefc"]
    assert known.first_matches == [3]
    scores = score_queries(*embeddings, ["x"], list("xyxzxy"))
    assert scores.first_rank.tolist() == [3]
    unknown = rank_gallery(images("q"), images("abcdef", "xyxzxy"), embeddings, per_side=False, top=None)
    assert order(unknown) == ["abdefc"]
    assert "match" not in unknown.table()


def test_the_first_match_is_known_beyond_what_is_shown() -> None:
    found = rank_gallery(images("q", "x"), images("abc", "yzx"), (at(0), at(1, 2, 3)), per_side=False, top=2)
    assert order(found) == ["ab"]
    assert found.table()["match"].tolist() == [False, False]
    assert found.first_matches == [3]


def test_the_other_side_is_somebody_else_where_sides_are_identities() -> None:
    embeddings, query = (at(0), at(1, 2)), images("q", "x", sides="L")
    gallery = images("ab", "xx", sides="RL")
    matches = {
        side: rank_gallery(query, gallery, embeddings, side, None).table()["match"].tolist() for side in (False, True)
    }
    assert matches == {False: [True, True], True: [False, True]}


def test_no_image_is_a_candidate_for_itself() -> None:
    found = rank_gallery(images("qp", places="ux"), images("abc", places="uvw"), (at(0, 0), at(0, 1, 2)), False, None)
    assert order(found) == ["bc", "abc"]
    assert found.table()["rank"].tolist() == [1, 2, 1, 2, 3]
