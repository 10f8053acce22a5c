"""The fold ensemble as the authors test it: a distance matrix for each model, and the mean of these."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vectors = Sequence[Sequence[float]]


def mean_distances(models: Sequence[tuple[Vectors, Vectors]]) -> list[list[float]]:
    """Mean over models of the squared Euclidean distances of their unit embeddings: (queries, gallery) of each."""
    matrices = [[[_squared(_unit(a), _unit(b)) for b in gallery] for a in query] for query, gallery in models]
    return [
        [math.fsum(cells) / len(cells) for cells in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)
    ]


def mean_average_precision(distances: Sequence[Sequence[float]], is_match: Sequence[Sequence[bool]]) -> float:
    """Of the queries that have a match; nearest first, and of equally near images the matches last."""
    found = []
    for row, matches in zip(distances, is_match, strict=True):
        ranked = [match for _, match in sorted(zip(row, matches, strict=True))]
        precisions = [sum(ranked[: k + 1]) / (k + 1) for k, match in enumerate(ranked) if match]
        found += [math.fsum(precisions) / len(precisions)] if precisions else []
    return math.fsum(found) / len(found)


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(math.fsum(x * x for x in vector))
    return [x / length for x in vector]


def _squared(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True))
