"""Which images of a gallery are most like each query, by the embeddings of one model."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fmim.matching.images import Images
from fmim_core.metrics.exact import ExactVectors

QUERIES_AT_ONCE = 256
KNOWN_OF_CANDIDATES = ("subject", "side", "months")


@dataclass(frozen=True)
class Candidates:
    """What was found for one query, the most similar first.

    positions: in the gallery `(n,)`. similarities: cosines `(n,)`.
    matches: bool `(n,)`, whether it is the same person; None where that is not known.
    first_match: the rank of the first true match among all candidates, shown or not; None where there is none.
    """

    positions: NDArray[np.int64]
    similarities: NDArray[np.float64]
    matches: NDArray[np.bool_] | None
    first_match: int | None


@dataclass(frozen=True, eq=False)
class Ranking:
    """The candidates of a gallery for each query, in the order of the queries."""

    query: Images
    gallery: Images
    found: tuple[Candidates, ...]

    def table(self) -> pd.DataFrame:
        """One row a query and rank: query, rank, candidate, of the candidate what is known, similarity, match.

        `query` and `candidate` are the images' names, `similarity` is a cosine in [−1, 1]. `match` says whether both
        are of one person, and is there only where it is known who is on them.
        """
        positions = np.concatenate([one.positions for one in self.found])
        lengths = [len(one.positions) for one in self.found]
        candidates = self.gallery.about.iloc[positions]
        columns = {
            "query": np.repeat(self.query.about["image"].to_numpy(), lengths),
            "rank": np.concatenate([np.arange(1, length + 1) for length in lengths]),
            "candidate": candidates["image"].to_numpy(),
            **{name: candidates[name].to_numpy() for name in KNOWN_OF_CANDIDATES if name in candidates},
            "similarity": np.concatenate([one.similarities for one in self.found]),
        }
        matches = [one.matches for one in self.found if one.matches is not None]
        return pd.DataFrame(columns | ({"match": np.concatenate(matches)} if matches else {}))


def rank(
    query: Images, gallery: Images, embeddings: tuple[np.ndarray, np.ndarray], per_side: bool, top: int | None
) -> Ranking:
    """The most similar images of the gallery for each query, by the embeddings `(Q, D)` and `(G, D)` of both.

    Similarities have no rounding error, as in `metrics.retrieval`, and ties count against the embedding here as there:
    of equally similar images the true matches stand last, and otherwise the gallery's order decides. So the first true
    match has the rank that the same queries and gallery give it in a report. No image is a candidate for itself.

    Args:
        per_side: whether the other side of a person is somebody else.
        top: how many candidates to keep of each query; None for all.
    """
    double = any(part.dtype == np.float64 for part in embeddings)
    queries, images = (ExactVectors.of(torch.from_numpy(part), double) for part in embeddings)
    known = query.known and gallery.known
    identities = [part.identities(per_side) for part in (query, gallery)] if known else None
    own: dict[str, list[int]] = defaultdict(list)
    for position, place in enumerate(gallery.places):
        own[place].append(position)
    found: list[Candidates] = []
    for start in range(0, len(query), QUERIES_AT_ONCE):
        similar = queries[start : start + QUERIES_AT_ONCE].similarity(images).numpy()
        for number, similarities in enumerate(similar, start):
            matches = None if identities is None else identities[1] == identities[0][number]
            itself = own.get(query.places.iloc[number], [])
            found.append(_ordered(similarities, matches, itself, top))
    return Ranking(query, gallery, tuple(found))


def _ordered(
    similarities: NDArray[np.float64], matches: NDArray[np.bool_] | None, itself: list[int], top: int | None
) -> Candidates:
    """The candidates of one query, whose own positions in the gallery are left out."""
    last = np.zeros(len(similarities), dtype=bool) if matches is None else matches
    order = np.lexsort((last, -similarities))  # by similarity; of equals those that match after the others
    order = order[~np.isin(order, itself)]
    true = np.flatnonzero(last[order])
    shown = order[:top]
    return Candidates(
        positions=shown,
        similarities=similarities[shown],
        matches=None if matches is None else matches[shown],
        first_match=int(true[0]) + 1 if len(true) else None,
    )
