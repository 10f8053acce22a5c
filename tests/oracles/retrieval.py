"""Retrieval metrics the slow, obvious way: rank the whole gallery for each query, then follow the definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

CUTS = (1, 5, 10)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Cosine similarity with correctly rounded sums; 0 for a zero vector."""
    lengths = math.sqrt(math.fsum(x * x for x in a)) * math.sqrt(math.fsum(x * x for x in b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def hits(query: Sequence[float], gallery: Sequence[Sequence[float]], is_match: Sequence[bool]) -> list[bool]:
    """Whether the image at each rank is a match: most similar first, and of equally similar ones the matches last."""
    ranking = sorted(zip(gallery, is_match, strict=True), key=lambda image: (-cosine(query, image[0]), image[1]))
    return [match for _, match in ranking]


def average_precision(ranked: Sequence[bool]) -> float:
    """Mean over the matches of the share of matches down to their rank."""
    precisions = [sum(ranked[: k + 1]) / (k + 1) for k, match in enumerate(ranked) if match]
    return math.fsum(precisions) / sum(ranked)


def average_precision_at_r(ranked: Sequence[bool]) -> float:
    """The same sum over the first R ranks only, still divided by R."""
    r = sum(ranked)
    return math.fsum(sum(ranked[: k + 1]) / (k + 1) for k in range(r) if ranked[k]) / r


def all_shots(ranked: Sequence[bool], k: int = 1) -> float:
    """The authors' CMC at k: each match counts 1/R if fewer than k images of others come before it."""
    before = [ranked[:place].count(False) for place, match in enumerate(ranked) if match]
    return sum(others < k for others in before) / len(before)


def expected_average_precision(relevant: int, candidates: int) -> Fraction:
    """Mean AP over every way to place `relevant` matches among `candidates` ranks, as an exact fraction."""
    placements = list(combinations(range(1, candidates + 1), relevant))
    total = sum(Fraction(j, rank) for ranks in placements for j, rank in enumerate(ranks, start=1))
    return total / (relevant * len(placements))


def retrieval(query, gallery, query_ids, gallery_ids, query_years=None, same_set=False) -> dict[str, float]:
    """What `fmim_core.metrics.retrieval` returns, but for `chance_mAP`, which `expected_average_precision` counts."""
    rankings: list[list[bool]] = []
    for i, vector in enumerate(query):
        others = [k for k in range(len(gallery)) if not (same_set and k == i)]
        is_match = [gallery_ids[k] == query_ids[i] for k in others]
        rankings.append(hits(vector, [gallery[k] for k in others], is_match))

    result = _pool(rankings)
    for year in set(query_years if query_years is not None else []):
        of_year = [ranking for ranking, other in zip(rankings, query_years, strict=True) if other == year]
        result |= {f"{name}/year_{year}": value for name, value in _pool(of_year).items()}
    return result | {"gallery": len(gallery)}


def _pool(rankings: list[list[bool]]) -> dict[str, float]:
    scored = [ranking for ranking in rankings if any(ranking)]
    return {
        "mAP": _mean([average_precision(ranking) for ranking in scored]),
        "mAP_at_R": _mean([average_precision_at_r(ranking) for ranking in scored]),
        **{f"CMC_{k}": _mean([float(any(ranking[:k])) for ranking in scored]) for k in CUTS},
        "CMC_1_all_shots": _mean([all_shots(ranking) for ranking in scored]),
        "queries": len(scored),
        "queries_without_match": len(rankings) - len(scored),
    }


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
