"""At which ranks a query's matching images are found, and which image is found first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class ExactVectors:
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
    def of(cls, vectors: Tensor, double: bool) -> ExactVectors:
        unit = vectors.to(torch.float64).contiguous()
        for norm in (torch.inf, 2):  # first by the largest coordinate, whose square may under- or overflow
            length = torch.linalg.vector_norm(unit, norm, dim=1, keepdim=True)
            unit = unit / length.masked_fill(length == 0, 1)
        coarse = _on_grid(unit, 26)
        bits = 52 - math.ceil(math.log2(unit.shape[1]) / 2)
        return cls(coarse, _on_grid(unit - coarse, bits) if double else None)

    def __getitem__(self, index: Any) -> ExactVectors:
        return ExactVectors(self.coarse[index], None if self.fine is None else self.fine[index])

    def similarity(self, other: ExactVectors) -> Tensor:
        """Return cosines `(..., A, B)` of self `(..., A, D)` with other `(..., B, D)`."""
        cosines = self.coarse @ other.coarse.mT
        if self.fine is None or other.fine is None:
            return cosines
        return cosines + (self.coarse @ other.fine.mT + self.fine @ other.coarse.mT)


def _on_grid(values: Tensor, bits: int) -> Tensor:
    return (values * 2.0**bits).round_() / 2.0**bits


MANY = 200
"""Thresholds a row from which sorting the similarities is faster than comparing them with every threshold."""


@dataclass(frozen=True)
class Matches:
    """Each query's identity in the gallery: at `order[start : start + size]`, the query itself included."""

    order: NDArray[np.int64]  # gallery positions, grouped by identity (G,)
    start: NDArray[np.int64]  # (Q,)
    size: NDArray[np.int64]  # (Q,)
    own: NDArray[np.int64]  # where in `order` the query itself is (Q,); -1: nowhere
    relevant: NDArray[np.int64]  # R (Q,)
    candidates: int  # N

    @classmethod
    def find(cls, query_ids: NDArray[Any], gallery_ids: NDArray[Any], same_set: bool) -> Matches:
        """Return the matches of labels of the same kind.

        Raises:
            ValueError: labels of different kinds, or of one set that do not agree.
        """
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


class Ranked(NamedTuple):
    """The finds of a block of B queries.

    ranks: of their matches `(B, L)`, ascending, then padding.
    relevant: how many of these are matches `(B, 1)`.
    nearest: the nearest match `(B,)`, by its place in `Matches.order`.
    other: the nearest image of another identity `(B,)`, likewise, if that was asked for.
    """

    ranks: Tensor
    relevant: Tensor
    nearest: Tensor
    other: Tensor | None


def tile_of(device: torch.device) -> tuple[int, int]:
    """Return how many queries and images to compare at a time: they stay in cache (2 MiB a core), or fill a GPU."""
    return (256, 1024 * torch.get_num_threads()) if device.type == "cpu" else (1024, 16384)


def ranked_blocks(
    query: ExactVectors,
    gallery: ExactVectors,
    matches: Matches,
    sequence: NDArray[np.int64],
    tile: tuple[int, int],
    others: bool,
) -> Iterator[Ranked]:
    """Rank the gallery for a sequence of queries `(S,)`, each with a match, block by block.

    The host alone decides what is in a block, so that a GPU is not waited for before the end.

    Args:
        others: find each query's nearest image of another identity too, which takes half as long again.
    """
    device = query.coarse.device
    grouped = gallery[torch.from_numpy(matches.order).to(device)]
    table = np.stack([np.arange(len(matches.start)), matches.start, matches.size, matches.own, matches.relevant])
    table = table[:, sequence, None]
    there = torch.from_numpy(table).to(device)
    for first in range(0, len(sequence), tile[0]):
        rows = slice(first, first + tile[0])
        at, start, size, own, relevant = there[:, rows]
        block, largest = query[at[:, 0]], int(table[2, rows].max())
        ranks, nearest = _ranks(block, grouped, start, size, own, largest, tile[1])
        other = _nearest_other(block, grouped, start, size, tile[1]) if others else None
        yield Ranked(ranks, relevant, nearest, other)


def _ranks(
    query: ExactVectors, gallery: ExactVectors, start: Tensor, size: Tensor, own: Tensor, largest: int, columns: int
) -> tuple[Tensor, Tensor]:
    """Return ranks `(B, largest)`, ascending, of the matches at `start` to `start + size` but not `own`; then padding.

    Before the j-th match are j - 1 matches and, by the tie rule, every non-match at least as similar: all the images
    at least as similar, less those of the query's own identity. With the ranks the place `(B,)` of the nearest match.
    """
    images = len(gallery.coarse)
    offsets = torch.arange(largest, device=start.device)
    places = start + offsets
    step = max(1, columns // query.coarse.shape[-1])  # a gathered part is as large as a tile of similarities
    parts = places.clamp(max=images - 1).split(step, dim=1)
    identity = torch.cat([query[:, None].similarity(gallery[part]).squeeze(1) for part in parts], dim=1)
    identity.masked_fill_(offsets >= size, -torch.inf)
    candidates = identity.masked_fill(places == own, -torch.inf)
    matches = candidates.sort(dim=1, descending=True).values
    others = -_count_at_least(identity, matches)
    if largest > MANY:  # tiles are sorted: wide ones, or looking up so many thresholds in each costs the most
        columns = max(columns, 8 * largest)
    for first in range(0, images, columns):
        others += _count_at_least(query.similarity(gallery[first : first + columns]), matches)
    return offsets + 1 + others, start[:, 0] + candidates.argmax(dim=1)


def _nearest_other(query: ExactVectors, gallery: ExactVectors, start: Tensor, size: Tensor, columns: int) -> Tensor:
    """Return the place `(B,)` of the nearest image that is not at `start` to `start + size`."""
    found = []
    for first in range(0, len(gallery.coarse), columns):
        similarity = query.similarity(gallery[first : first + columns])
        place = torch.arange(first, first + similarity.shape[1], device=start.device)
        similarity.masked_fill_((place >= start) & (place < start + size), -torch.inf)
        value, index = similarity.max(dim=1)
        found.append((value, index + first))
    values, places = (torch.stack(parts, dim=1) for parts in zip(*found, strict=True))
    return places.gather(1, values.argmax(dim=1, keepdim=True))[:, 0]


def _count_at_least(values: Tensor, thresholds: Tensor) -> Tensor:
    """Count a row's values `(B, N)` that are >= each of its thresholds `(B, T)`: `(B, T)`, whole numbers as floats."""
    if thresholds.shape[1] > MANY:
        below = torch.searchsorted(values.sort(dim=1).values, thresholds)
        return (values.shape[1] - below).to(values.dtype)
    # 0.0 and 1.0 vectorise on a CPU, where booleans and their sum do not; on a GPU fewer bytes are all that counts.
    above = torch.empty_like(values, dtype=values.dtype if values.device.type == "cpu" else torch.bool)
    columns = thresholds.split(1, dim=1)
    counts = [torch.ge(values, column, out=above).sum(dim=1, dtype=values.dtype) for column in columns]
    return torch.stack(counts, dim=1)
