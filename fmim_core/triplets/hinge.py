"""Means of hinge terms of similarities: linear functions of the similarities, as long as the same terms are not 0."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class MeanHinge:
    """The mean of hinge terms of φ `(B, B)`, each of which is linear where it is not 0: Σ W φ + c.

    W and c are constant, so that the value and its gradient need one product over `(B, B)`, however many triplets the
    terms are of.

    weights: W `(B, B)`. constant: c (scalar). nonzero: how many terms are not 0 (scalar). All without gradient.
    """

    weights: Tensor
    constant: Tensor
    nonzero: Tensor

    @classmethod
    def of(cls, weights: Tensor, constant: Tensor, nonzero: Tensor, count: Tensor) -> MeanHinge:
        """Return (Σ W φ + c)/count; 0 where there are no terms."""
        count = count.clamp(min=1)
        return cls(weights / count, constant / count, nonzero)

    def plus(self, other: MeanHinge, factor: float) -> MeanHinge:
        """Return the sum of this and `factor` times the other; `nonzero` stays this one's."""
        weights = self.weights.add(other.weights, alpha=factor)
        return MeanHinge(weights, self.constant + factor * other.constant, self.nonzero)

    def at(self, phi: Tensor) -> Tensor:
        """Return its value for φ `(B, B)` (scalar, with gradient)."""
        return (self.weights * phi).sum() + self.constant
