"""Cosine similarities without rounding error, so that equal vectors tie wherever they lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
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
