"""Retrieval metrics of embeddings against a gallery, all from the ranks of each query's matching images.

Similarities are exact, which is what makes ties visible and the result independent of the gallery's order, of the
block size, of the number of threads, and of TF32 or autocast: see `_Exact`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fmim_core.metric_names import CMC_RANKS, METRICS, year_key

_MANY = 200
"""Thresholds a row from which sorting the similarities is faster than comparing them with every threshold."""


def retrieval(
    query: Any,
    gallery: Any,
    query_ids: Any,
    gallery_ids: Any,
    query_years: Any = None,
    same_set: bool = False,
) -> dict[str, float]:
    """Score how well each query finds the gallery images of its own identity by cosine similarity.

    With R matches in a gallery of N, at ranks r_1 < ... < r_R: AP = 1/R sum_j j / r_j over the whole gallery;
    AP@R is the same sum over r_j <= R only (Musgrave et al. 2020); CMC_k = 1 if r_1 <= k. Each metric is the mean over
    the queries that have a match. `chance_mAP` is the mean expected AP of a uniformly random ranking,
    1/N (H_N + (R - 1)/(N - 1) (N - H_N)) with H_N = 1 + 1/2 + ... + 1/N.

    Ties count against the embedding: among equal similarities the non-matching images rank first. A collapsed embedding
    so scores as badly as it deserves, and the order of the gallery never matters: equal gallery vectors have exactly
    equal similarities, whatever their positions. A zero vector has similarity 0 to everything.

    Args:
        query: embeddings `(Q, D)`, a floating-point tensor or array; the work is done on its device.
        gallery: embeddings `(G, D)`.
        query_ids: `(Q,)` whole numbers or strings (a list, array or tensor).
        gallery_ids: `(G,)` of the same kind.
        query_years: `(Q,)` whole numbers; every figure is then given by year too, as `mAP/year_4`.
        same_set: query i is gallery image i, and is left out of its own ranking.

    Returns:
        `mAP`, `mAP_at_R`, `CMC_1`, `CMC_5`, `CMC_10`, `chance_mAP` (fractions; NaN if no query has a match), and the
        counts `queries` (scored), `queries_without_match` (left out of every mean), `gallery`.

    Raises:
        ValueError: NaN or inf in the embeddings, an empty gallery, shapes or lengths that do not fit together, or
            identities or years that are not of the kinds above.
    """
    device = query.device if isinstance(query, Tensor) else torch.device("cpu")
    if device.type == "mps":  # Apple's GPU has no float64
        device = torch.device("cpu")
    queries = _embeddings(query, "query", device)
    images = _embeddings(gallery, "gallery", device)
    if queries.shape[1] != images.shape[1]:
        raise ValueError(
            f"query has {queries.shape[1]} dimensions, gallery {images.shape[1]}: both must come from one model"
        )
    if len(images) == 0:
        raise ValueError("the gallery is empty: there is nothing to search; give at least one image")
    if same_set and len(queries) != len(images):
        raise ValueError(f"same_set=True needs query i to be gallery image i, got {len(queries)} and {len(images)}")
    matches = _Matches.find(
        _labels(query_ids, "query_ids", len(queries)),
        _labels(gallery_ids, "gallery_ids", len(images)),
        same_set,
    )
    years = None if query_years is None else _labels(query_years, "query_years", len(queries), strings=False)

    double = torch.float64 in (queries.dtype, images.dtype)
    scores = _score(_Exact.of(queries, double), _Exact.of(images, double), matches, _tile(device))

    result = _means(scores, np.ones(len(queries), dtype=bool)) | {"gallery": float(len(images))}
    for year in [] if years is None else np.unique(years).tolist():
        of_year = _means(scores, years == year)
        result |= {year_key(name, year): value for name, value in of_year.items()}
    return result


# Similarities ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Exact:
    """Unit vectors `(..., D)` whose dot products have no rounding error, so that no order of summation can matter.

    A matrix product may add the D terms in another order at the edge of a block, in a block of another size, or on
    another device: equal vectors then get similarities that differ in the last bit, and a tie is lost. Here coordinates
    are multiples of 2^-26, so products are multiples of 2^-52, partial sums are at most 1 (Cauchy-Schwarz), and float64
    holds every one of them. That is about as fine as float32. Of float64 embeddings, what this grid leaves is kept as
    `fine`, on a second grid chosen likewise (|fine| <= 2^-27, so partial sums are at most sqrt(D) 2^-26).
    """

    coarse: Tensor
    fine: Tensor | None

    @classmethod
    def of(cls, vectors: Tensor, double: bool) -> _Exact:
        unit = vectors.to(torch.float64).contiguous()
        for norm in (torch.inf, 2):  # first by the largest coordinate, whose square may under- or overflow
            length = torch.linalg.vector_norm(unit, norm, dim=1, keepdim=True)
            unit = unit / length.masked_fill(length == 0, 1)
        coarse = _on_grid(unit, 26)
        bits = 52 - math.ceil(math.log2(unit.shape[1]) / 2)
        return cls(coarse, _on_grid(unit - coarse, bits) if double else None)

    def __getitem__(self, index: Any) -> _Exact:
        return _Exact(self.coarse[index], None if self.fine is None else self.fine[index])

    def similarity(self, other: _Exact) -> Tensor:
        """Cosines `(..., A, B)` of self `(..., A, D)` with other `(..., B, D)`."""
        cosines = self.coarse @ other.coarse.mT
        if self.fine is None or other.fine is None:
            return cosines
        return cosines + (self.coarse @ other.fine.mT + self.fine @ other.coarse.mT)


def _on_grid(values: Tensor, bits: int) -> Tensor:
    return (values * 2.0**bits).round_() / 2.0**bits


# Ranks ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Matches:
    """Where each query's identity is in the gallery: at `order[start : start + size]`, the query itself included."""

    order: NDArray[np.int64]  # gallery positions, grouped by identity (G,)
    start: NDArray[np.int64]  # (Q,)
    size: NDArray[np.int64]  # (Q,)
    own: NDArray[np.int64]  # where in `order` the query itself is (Q,); -1: nowhere
    relevant: NDArray[np.int64]  # R (Q,)
    candidates: int  # N

    @classmethod
    def find(cls, query_ids: NDArray[Any], gallery_ids: NDArray[Any], same_set: bool) -> _Matches:
        if len(query_ids) == 0:
            query_ids = query_ids.astype(gallery_ids.dtype)
        if query_ids.dtype.kind != gallery_ids.dtype.kind:
            raise ValueError(
                f"query_ids are {query_ids.dtype}, gallery_ids {gallery_ids.dtype}: none could match; "
                "give both as whole numbers, or both as strings"
            )
        if same_set and not np.array_equal(query_ids, gallery_ids):
            raise ValueError("same_set=True needs equal query_ids and gallery_ids: they name the same images")
        order = np.argsort(gallery_ids, kind="stable")
        start, end = (np.searchsorted(gallery_ids[order], query_ids, side=side) for side in ("left", "right"))
        own = np.argsort(order) if same_set else np.full(len(query_ids), -1)
        return cls(order, start, end - start, own, end - start - same_set, len(order) - same_set)


def _tile(device: torch.device) -> tuple[int, int]:
    """Queries and gallery images to compare at a time: what stays in cache (2 MiB a core), or what fills a GPU."""
    return (256, 1024 * torch.get_num_threads()) if device.type == "cpu" else (1024, 16384)


def _score(query: _Exact, gallery: _Exact, matches: _Matches, tile: tuple[int, int]) -> dict[str, NDArray[np.float64]]:
    """Each metric of each query `(Q,)`, NaN where it has no match, worked out tile by tile.

    The host alone decides what is in a block, so that a GPU is not waited for before the end.
    """
    device = query.coarse.device
    grouped = gallery[torch.from_numpy(matches.order).to(device)]
    # Queries with as many matches go together, since a block spends on each what its largest needs.
    sequence = np.argsort(matches.relevant, kind="stable")
    sequence = sequence[matches.relevant[sequence] > 0]
    table = np.stack([np.arange(len(matches.start)), matches.start, matches.size, matches.own, matches.relevant])
    table = table[:, sequence, None]
    there, blocks = torch.from_numpy(table).to(device), []
    for first in range(0, len(sequence), tile[0]):
        rows = slice(first, first + tile[0])
        at, start, size, own, relevant = there[:, rows]
        ranks = _ranks(query[at[:, 0]], grouped, start, size, own, int(table[2, rows].max()), tile[1])
        blocks.append(_from_ranks(ranks, relevant))
    scores = {name: np.full(len(matches.relevant), np.nan) for name in METRICS}
    if blocks:
        for name, values in scores.items():
            values[sequence] = torch.cat([block[name] for block in blocks]).cpu().numpy()
    return scores | {"chance_mAP": _chance(matches.relevant, matches.candidates)}


def _ranks(
    query: _Exact, gallery: _Exact, start: Tensor, size: Tensor, own: Tensor, largest: int, columns: int
) -> Tensor:
    """Ranks `(B, largest)`, ascending, of the matches at `start` to `start + size` but not `own`; then padding.

    Before the j-th match are j - 1 matches and, by the tie rule, every non-match at least as similar: all the images
    at least as similar, less those of the query's own identity.
    """
    images = len(gallery.coarse)
    offsets = torch.arange(largest, device=start.device)
    places = start + offsets
    step = max(1, columns // query.coarse.shape[-1])  # a gathered part is as large as a tile of similarities
    parts = places.clamp(max=images - 1).split(step, dim=1)
    identity = torch.cat([query[:, None].similarity(gallery[part]).squeeze(1) for part in parts], dim=1)
    identity.masked_fill_(offsets >= size, -torch.inf)
    matches = identity.masked_fill(places == own, -torch.inf).sort(dim=1, descending=True).values
    others = -_count_at_least(identity, matches)
    if largest > _MANY:  # tiles are sorted: wide ones, or looking up so many thresholds in each costs the most
        columns = max(columns, 8 * largest)
    for first in range(0, images, columns):
        others += _count_at_least(query.similarity(gallery[first : first + columns]), matches)
    return offsets + 1 + others


def _count_at_least(values: Tensor, thresholds: Tensor) -> Tensor:
    """How many of a row's values `(B, N)` are >= each of its thresholds `(B, T)`: `(B, T)`, whole numbers as floats."""
    if thresholds.shape[1] > _MANY:
        below = torch.searchsorted(values.sort(dim=1).values, thresholds)
        return (values.shape[1] - below).to(values.dtype)
    # 0.0 and 1.0 vectorise on a CPU, where booleans and their sum do not; on a GPU fewer bytes are all that counts.
    above = torch.empty_like(values, dtype=values.dtype if values.device.type == "cpu" else torch.bool)
    columns = thresholds.split(1, dim=1)
    counts = [torch.ge(values, column, out=above).sum(dim=1, dtype=values.dtype) for column in columns]
    return torch.stack(counts, dim=1)


# Metrics --------------------------------------------------------------------------------------------------------------


def _from_ranks(ranks: Tensor, relevant: Tensor) -> dict[str, Tensor]:
    """The metrics `(B,)` of queries with `relevant` `(B, 1)` matches at `ranks` `(B, any)`, ascending and padded."""
    order = torch.arange(1, ranks.shape[1] + 1, device=ranks.device)
    precision = (order / ranks).masked_fill(order > relevant, 0)
    return {
        "mAP": precision.sum(dim=1) / relevant[:, 0],
        "mAP_at_R": precision.masked_fill(ranks > relevant, 0).sum(dim=1) / relevant[:, 0],
        **{f"CMC_{k}": (ranks[:, 0] <= k).to(ranks.dtype) for k in CMC_RANKS},
    }


def _chance(relevant: NDArray[np.int64], candidates: int) -> NDArray[np.float64]:
    """Expected AP of a random order of `candidates` images, `relevant` `(Q,)` of which match; NaN where none does.

    Rank k is a match with probability R/N, and then (k - 1)(R - 1)/(N - 1) others are expected before it.
    """
    harmonic = (1 / np.arange(1, candidates + 1)).sum()
    others = (relevant - 1) / max(candidates - 1, 1)
    expected = (harmonic + others * (candidates - harmonic)) / max(candidates, 1)
    return np.where(relevant > 0, expected, np.nan)


def _means(scores: dict[str, NDArray[np.float64]], chosen: NDArray[np.bool_]) -> dict[str, float]:
    """Means over the chosen queries that have a match, and how many have and have not."""
    scored = chosen & ~np.isnan(scores["mAP"])
    count = int(scored.sum())
    means = {name: float(values[scored].mean()) if count else math.nan for name, values in scores.items()}
    return means | {"queries": float(count), "queries_without_match": float(chosen.sum() - count)}


# Input ----------------------------------------------------------------------------------------------------------------


def _embeddings(values: Any, side: str, device: torch.device) -> Tensor:
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


def _labels(values: Any, name: str, count: int, strings: bool = True) -> NDArray[Any]:
    """One label an embedding `(count,)`, as int64 or as strings."""
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
