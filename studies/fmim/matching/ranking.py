"""Ranking the images of a gallery by how alike they are to each query, by the embeddings of one model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from fmim.matching.images import GivenImages
from fmim_core.metrics.ranks import ExactVectors

QUERIES_AT_ONCE = 256
KNOWN_OF_CANDIDATES = ("subject", "side", "months")


@dataclass(frozen=True, eq=False)
class Ranking:
    """The candidates of a gallery for each query, in the order of the queries.

    candidates: one row a query and rank, the most similar first, with the positions `query` and `candidate`, the `rank`
        from 1, the cosine `similarity`, and where that is known `match`, whether both are of one person.
    first_matches: of each query the rank of its first true match among all candidates, kept or not; None where there is
        none.
    """

    query: GivenImages
    gallery: GivenImages
    candidates: pd.DataFrame
    first_matches: Sequence[int | None]

    @property
    def known(self) -> bool:
        """Return whether it is known who matches."""
        return "match" in self.candidates

    def table(self) -> pd.DataFrame:
        """Return one row a query and rank: query, rank, candidate, of the candidate what is known, similarity, match.

        `query` and `candidate` are the images' names, `similarity` is a cosine in [−1, 1]. `match` says whether both
        are of one person, and is there only where it is known who is on them.
        """
        found, about = self.candidates, self.gallery.about.iloc[self.candidates["candidate"]]
        columns = {
            "query": self.query.about["image"].to_numpy()[found["query"]],
            "rank": found["rank"],
            "candidate": about["image"].to_numpy(),
            **{name: about[name].to_numpy() for name in KNOWN_OF_CANDIDATES if name in about},
            "similarity": found["similarity"],
        }
        return pd.DataFrame(columns | ({"match": found["match"]} if self.known else {}))


def rank_gallery(
    query: GivenImages,
    gallery: GivenImages,
    embeddings: tuple[np.ndarray, np.ndarray],
    per_side: bool,
    top: int | None,
) -> Ranking:
    """Return the most similar images of the gallery for each query, by the embeddings `(Q, D)` and `(G, D)` of both.

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
    people = [part.identities(per_side) if known else np.array([]) for part in (query, gallery)]
    own: dict[str, list[int]] = defaultdict(list)
    for position, place in enumerate(gallery.places):
        own[place].append(position)
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    first_matches: list[int | None] = []
    for start in range(0, len(query), QUERIES_AT_ONCE):
        similar = queries[start : start + QUERIES_AT_ONCE].similarity(images).numpy()
        for number, similarity in enumerate(similar, start):
            match = people[1] == people[0][number] if known else np.zeros(len(similarity), dtype=bool)
            order = np.lexsort((match, -similarity))  # by similarity; of equals those that match after the others
            order = order[~np.isin(order, own.get(query.places.iloc[number], []))]
            true = np.flatnonzero(match[order])
            first_matches.append(int(true[0]) + 1 if len(true) else None)
            kept = order[:top]
            columns = {"query": np.full(len(kept), number), "rank": np.arange(1, len(kept) + 1), "candidate": kept}
            columns |= {"similarity": similarity[kept]} | ({"match": match[kept]} if known else {})
            for name, values in columns.items():
                found[name].append(values)
    candidates = pd.DataFrame({name: np.concatenate(values) for name, values in found.items()})
    return Ranking(query, gallery, candidates, first_matches)
