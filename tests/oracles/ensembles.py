"""The fold ensemble as the authors test it: a distance matrix for each model, and the mean of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from tests.oracles.retrieval import average_precision

Vectors = Sequence[Sequence[float]]


def mean_distances(models: Sequence[tuple[Vectors, Vectors]]) -> np.ndarray:
    """Mean over models of the squared Euclidean distances of their unit embeddings: (queries, gallery) of each."""
    sides = [[side / np.linalg.norm(side, axis=1, keepdims=True) for side in map(np.array, pair)] for pair in models]
    return np.mean([cdist(query, gallery, "sqeuclidean") for query, gallery in sides], axis=0)


def mean_average_precision(distances: np.ndarray, is_match: Sequence[Sequence[bool]]) -> float:
    """Of the queries that have a match; nearest first, and of equally near images the matches last."""
    rankings = [
        [match for _, match in sorted(zip(row, matches, strict=True))]
        for row, matches in zip(distances.tolist(), is_match, strict=True)
    ]
    return float(np.mean([average_precision(ranked) for ranked in rankings if any(ranked)]))
