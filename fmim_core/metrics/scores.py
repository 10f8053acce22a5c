"""The metrics of each query, from the ranks of its matches, and their means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fmim_core.metric_names import CMC_RANKS, METRICS, YEAR, Interval
from fmim_core.metrics.ranks import ExactVectors, Matches, Ranked, ranked_blocks, tile_of


@dataclass(frozen=True)
class QueryScores:
    """The results of Q queries; all arrays are `(Q,)`, in the order of the queries.

    values: each of `METRICS`, and `chance_mAP`, of every query; NaN where it has no match.
    matches: R, the images of its identity in the gallery (the query itself not counted).
    first_rank: r_1, the rank of its nearest match; 0 where there is none.
    nearest_match: its position in the gallery; -1 where there is none.
    first_found: the position of the image at rank 1, if that was asked for; -1 where the query has no match, and was
        not searched for.
    times: of the queries after baseline, in whole intervals, if they were given; negative where unknown.
    interval: the unit of `times`, after which means are named.
    gallery: how many images were searched.
    """

    values: dict[str, NDArray[np.float64]]
    matches: NDArray[np.int64]
    first_rank: NDArray[np.int64]
    nearest_match: NDArray[np.int64]
    first_found: NDArray[np.int64] | None
    times: NDArray[np.int64] | None
    interval: Interval
    gallery: int

    def means(self) -> dict[str, float]:
        """Return what `retrieval` does: each metric's mean over the queries that have a match, overall and by time.

        A query of unknown time counts among all, and in no group.
        """
        result = self._means(np.ones(len(self.matches), dtype=bool)) | {"gallery": float(self.gallery)}
        times = np.empty(0, np.int64) if self.times is None else self.times
        for time in np.unique(times[times >= 0]).tolist():
            at_time = self._means(times == time)
            result |= {self.interval.key(name, time): value for name, value in at_time.items()}
        return result

    def _means(self, chosen: NDArray[np.bool_]) -> dict[str, float]:
        scored = chosen & (self.matches > 0)
        count = int(scored.sum())
        means = {name: float(values[scored].mean()) if count else math.nan for name, values in self.values.items()}
        return means | {"queries": float(count), "queries_without_match": float(chosen.sum() - count)}


def retrieval(
    query: Any,
    gallery: Any,
    query_ids: Any,
    gallery_ids: Any,
    query_years: Any = None,
    same_set: bool = False,
) -> dict[str, float]:
    """Score how well the queries find the gallery images of their own identity: the means of `score_queries`.

    Takes and raises what `score_queries` does (but for `find_first` and `interval`).

    Returns:
        The mean over the queries that have a match of each metric (fractions; NaN if no query has one), the mean
        `chance_mAP`, and the counts `queries` (scored), `queries_without_match` (left out of every mean), `gallery`;
        with `query_years` all but the last by year too, as `mAP/year_4`.
    """
    return score_queries(query, gallery, query_ids, gallery_ids, query_years, same_set).means()


def score_queries(
    query: Any,
    gallery: Any,
    query_ids: Any,
    gallery_ids: Any,
    query_years: Any = None,
    same_set: bool = False,
    find_first: bool = False,
    interval: Interval = YEAR,
) -> QueryScores:
    """Score how well each query finds the gallery images of its own identity by cosine similarity.

    With R matches in a gallery of N, at ranks r_1 < ... < r_R: AP = 1/R sum_j j / r_j over the whole gallery;
    AP@R is the same sum over r_j <= R only (Musgrave et al. 2020); CMC_k = 1 if r_1 <= k. CMC_1 over all shots is the
    share of the matches before which no other identity's image comes, 1/R |{j: r_j = j}|, as the authors of AdaTriplet
    count (their released code; equal to CMC_1 where R = 1). `chance_mAP` is the expected AP of a uniformly random
    ranking, 1/N (H_N + (R - 1)/(N - 1) (N - H_N)) with H_N = 1 + 1/2 + ... + 1/N.

    Ties count against the embedding: among equal similarities the non-matching images rank first. So a collapsed
    embedding scores badly, and the order of the gallery never matters: equal gallery vectors have exactly
    equal similarities, whatever their positions. (The authors' code ranks equal distances in the order in which an
    unstable sort leaves them, which is no property of the embedding.) A zero vector has similarity 0 to everything.

    Args:
        query: embeddings `(Q, D)`, a floating-point tensor or array; the work is done on its device.
        gallery: embeddings `(G, D)`.
        query_ids: `(Q,)` whole numbers or strings (a list, array or tensor).
        gallery_ids: `(G,)` of the same kind.
        query_years: `(Q,)` whole numbers, negative if unknown; means are then also given by year.
        same_set: query i is gallery image i, and is left out of its own ranking.
        find_first: also return the image at rank 1 of each query, which takes half as long again.
        interval: the unit of `query_years`, if not years; means are named after it, as `mAP/week_4`.

    Raises:
        ValueError: NaN or inf in the embeddings, an empty gallery, shapes or lengths that do not fit together, or
            identities or years that are not of the kinds above.
    """
    device = query.device if isinstance(query, Tensor) else torch.device("cpu")
    if device.type == "mps":  # Apple's GPU has no float64
        device = torch.device("cpu")
    queries = checked_embeddings(query, "query", device)
    images = checked_embeddings(gallery, "gallery", device)
    if queries.shape[1] != images.shape[1]:
        raise ValueError(
            f"query has {queries.shape[1]} dimensions, gallery {images.shape[1]}: both must come from one model"
        )
    if len(images) == 0:
        raise ValueError("the gallery is empty: there is nothing to search; give at least one image")
    if same_set and len(queries) != len(images):
        raise ValueError(f"same_set=True needs query i to be gallery image i, got {len(queries)} and {len(images)}")
    matches = Matches.find(
        checked_labels(query_ids, "query_ids", len(queries)),
        checked_labels(gallery_ids, "gallery_ids", len(images)),
        same_set,
    )
    times = None if query_years is None else checked_labels(query_years, "query_years", len(queries), strings=False)
    double = torch.float64 in (queries.dtype, images.dtype)
    sides = ExactVectors.of(queries, double), ExactVectors.of(images, double)
    return scores_by_tiles(*sides, matches, tile_of(device), times, find_first, interval)


def scores_by_tiles(
    query: ExactVectors,
    gallery: ExactVectors,
    matches: Matches,
    tile: tuple[int, int],
    times: NDArray[np.int64] | None = None,
    find_first: bool = False,
    interval: Interval = YEAR,
) -> QueryScores:
    """Return the scores, worked out tile by tile."""
    # Queries with as many matches go together, since a block spends on each what its largest needs.
    sequence = np.argsort(matches.relevant, kind="stable")
    sequence = sequence[matches.relevant[sequence] > 0]
    blocks = [_of_block(block) for block in ranked_blocks(query, gallery, matches, sequence, tile, find_first)]

    def every(name: str, missing: float) -> NDArray[np.float64]:
        """Return one number a query, from the blocks."""
        values = np.full(len(matches.relevant), missing)
        if blocks:
            values[sequence] = torch.cat([block[name] for block in blocks]).cpu().numpy()
        return values

    def position(name: str) -> NDArray[np.int64]:
        place = every(name, -1).astype(np.int64)
        return np.where(place < 0, -1, matches.order[place])

    chance = {"chance_mAP": _chance(matches.relevant, matches.candidates)}
    return QueryScores(
        values={name: every(name, np.nan) for name in METRICS} | chance,
        matches=matches.relevant,
        first_rank=every("first_rank", 0).astype(np.int64),
        nearest_match=position("nearest_match"),
        first_found=position("first_found") if find_first else None,
        times=times,
        interval=interval,
        gallery=len(matches.order),
    )


def _of_block(block: Ranked) -> dict[str, Tensor]:
    """Return what is known of a block's queries `(B,)`: the metrics, and which images were found."""
    ranks, relevant = block.ranks, block.relevant
    order = torch.arange(1, ranks.shape[1] + 1, device=ranks.device)
    precision = (order / ranks).masked_fill(order > relevant, 0)
    first = block.nearest if block.other is None else torch.where(ranks[:, 0] == 1, block.nearest, block.other)
    return {
        "mAP": precision.sum(dim=1) / relevant[:, 0],
        "mAP_at_R": precision.masked_fill(ranks > relevant, 0).sum(dim=1) / relevant[:, 0],
        **{f"CMC_{k}": (ranks[:, 0] <= k).to(ranks.dtype) for k in CMC_RANKS},
        "CMC_1_all_shots": (ranks == order).logical_and_(order <= relevant).sum(dim=1) / relevant[:, 0].to(ranks.dtype),
        "first_rank": ranks[:, 0],
        "nearest_match": block.nearest,
        "first_found": first,
    }


def _chance(relevant: NDArray[np.int64], candidates: int) -> NDArray[np.float64]:
    """Return the expected AP of a random order of `candidates` images, `relevant` `(Q,)` of them matches; NaN of none.

    Rank k is a match with probability R/N, and then (k - 1)(R - 1)/(N - 1) others are expected before it.
    """
    harmonic = (1 / np.arange(1, candidates + 1)).sum()
    others = (relevant - 1) / max(candidates - 1, 1)
    expected = (harmonic + others * (candidates - harmonic)) / max(candidates, 1)
    return np.where(relevant > 0, expected, np.nan)


def checked_embeddings(values: Any, side: str, device: torch.device) -> Tensor:
    vectors = values.detach() if isinstance(values, Tensor) else torch.from_numpy(np.array(values))
    if vectors.ndim != 2 or vectors.shape[1] == 0 or not vectors.is_floating_point():
        raise ValueError(
            f"{side}: embeddings must be floating-point numbers of shape (images, dimensions), "
            f"got {vectors.dtype} of shape {tuple(vectors.shape)}"
        )
    for kind, bad in (("NaN", vectors.isnan()), ("inf", vectors.isinf())):
        if rows := int(bad.any(dim=1).sum()):
            raise ValueError(
                f"{kind} in embeddings: {rows} of {len(vectors)} {side} rows; "
                "the model has diverged or its input is not finite: score an earlier checkpoint, or check the images"
            )
    return vectors.to(device)


def checked_labels(values: Any, name: str, count: int, strings: bool = True) -> NDArray[Any]:
    """Return one label an embedding `(count,)`, as int64 or as strings."""
    labels = values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if labels.shape != (count,):
        raise ValueError(f"{name}: expected one for each of {count} embeddings, got shape {labels.shape}")
    if strings and (labels.dtype.kind in "UT" or _all(labels, str)):
        return labels.astype(str)
    whole = labels.dtype.kind in "iu" or _all(labels, Integral)
    if not whole and labels.dtype.kind == "f":
        whole = bool((np.abs(labels) < 2**53).all() and (labels == np.rint(labels)).all())
    if not whole:
        allowed = "whole numbers, or all strings" if strings else "whole numbers"
        raise ValueError(f"{name}: expected {allowed}, got {labels[:3].tolist()} ...; is a value missing?")
    return labels.astype(np.int64)


def _all(labels: NDArray[Any], kind: type) -> bool:
    return labels.dtype == object and len(labels) > 0 and all(isinstance(label, kind) for label in labels)
