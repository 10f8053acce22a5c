"""The pairs and triplets of a batch, as dense similarities: the one structure that losses and statistics read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

NOT_A_TRIPLET = 8.0
"""Δ of invalid triplets: beyond [−2, 2] and any margin, so that a hinge [ε − Δ]₊ is 0 there without a mask."""

MIN_LENGTH = 1e-3
"""Embeddings shorter than this are not scaled to length 1."""


@dataclass(frozen=True)
class TripletIndex:
    """Who is whose positive and negative in a batch of labels `(B,)`; made once, since labels repeat in every batch.

    anchor, positive: `(P,)` positions of every ordered pair with equal labels and different positions; `pair` their
    places in the flattened `(B, B)`. A triplet is a pair p and a column n with `valid[p, n]`.
    positives_per_anchor: where all anchors have as many; pairs are then those of every anchor with its first positive,
    with its second, and so on, so that `(P, B)` is a stack of `(B, B)`. Else 0.
    valid: `(P, B)` bool, true where the label of the column is not the anchor's.
    not_negative: `(B, B)`, 0 where labels differ and `NOT_A_TRIPLET` elsewhere, to be added to Δ.
    negative_pairs: `(B, B)`, 1 at each unordered pair of different labels once, else 0.
    negatives_of_triplets: `(B, B)`, in how many triplets each φ is φ_an.
    triplet_places, negative_places: where `valid` and `negative_pairs` are not 0, as places in the flattened matrices.
    A mask as an index would make the host wait for the device, to count.
    sum_weights: `(3, B·B)` float64, the weights of φ in the sums of Δ over all triplets, of φ_an over all negative
    pairs and of φ_ap over all ordered positive pairs. With a positives and n negatives of an anchor, φ_ap is in n of
    its triplets and φ_an, with a minus, in a.
    triplets, negatives: how many triplets and negative pairs there are.
    """

    labels: Tensor
    anchor: Tensor
    positive: Tensor
    pair: Tensor
    positives_per_anchor: int
    valid: Tensor
    not_negative: Tensor
    negative_pairs: Tensor
    negatives_of_triplets: Tensor
    triplet_places: Tensor
    negative_places: Tensor
    sum_weights: Tensor
    triplets: int
    negatives: int

    @classmethod
    def of(cls, labels: Tensor) -> TripletIndex:
        negative = labels[:, None] != labels[None, :]
        positive = ~negative & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        anchors, positives = positive.nonzero(as_tuple=True)
        negative_pairs = negative.triu(diagonal=1)
        positives_of = positive.sum(dim=1)
        regular = len(anchors) > 0 and bool((positives_of == positives_of[0]).all())
        each = int(positives_of[0]) if regular else 0
        if each:
            anchors, positives = (side.view(-1, each).T.flatten() for side in (anchors, positives))
        triplet_places, negative_places = (
            mask.flatten().nonzero().flatten() for mask in (negative[anchors], negative_pairs)
        )
        as_positive, as_negative = (
            side * other.sum(dim=1, keepdim=True, dtype=torch.float64)
            for side, other in ((positive, negative), (negative, positive))
        )
        return cls(
            labels=labels,
            anchor=anchors,
            positive=positives,
            pair=anchors * len(labels) + positives,
            positives_per_anchor=each,
            valid=negative[anchors],
            not_negative=NOT_A_TRIPLET * (~negative).float(),
            negative_pairs=negative_pairs.float(),
            negatives_of_triplets=as_negative.float(),
            triplet_places=triplet_places,
            negative_places=negative_places,
            sum_weights=torch.stack([as_positive - as_negative, negative_pairs.double(), positive.double()]).flatten(1),
            triplets=len(triplet_places),
            negatives=len(negative_places),
        )

    def delta(self, phi: Tensor) -> Tensor:
        """Return Δ `(P, B)` of similarities φ `(B, B)`; near `NOT_A_TRIPLET` where not `valid`."""
        phi_ap = phi.take(self.pair)
        minus_phi_an = self.not_negative - phi  # the minus here: in the backward it is one of (B, B), not of (P, B)
        if self.positives_per_anchor:  # no row is copied, and the backward adds up in one pass
            return (phi_ap.view(self.positives_per_anchor, -1, 1) + minus_phi_an).view(-1, len(phi))
        return phi_ap[:, None] + minus_phi_an.index_select(0, self.anchor)

    def weights_of(self, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Return W `(B, B)` with Σ −Δ over the chosen triplets = Σ W φ, and how many triplets these are.

        W says how many of them have each φ as φ_an, less how many have it as φ_ap.

        Args:
            chosen: `(P, B)`, 1 at triplets that are chosen, 0 elsewhere.
        """
        size, of_pair = len(self.labels), chosen.sum(dim=1)
        if self.positives_per_anchor:
            weights = chosen.view(-1, size, size).sum(dim=0)
        else:
            weights = chosen.new_zeros(size, size).index_add_(0, self.anchor, chosen)
        # Added to 0: no positive is a negative.
        return weights.put_(self.pair, -of_pair, accumulate=True), of_pair.sum()


@dataclass(frozen=True)
class Similarities:
    """Cosine similarities of a batch of unit embeddings `(B, D)`.

    phi: `(B, B)`. For triplets, by ordered positive pair and candidate negative: phi_ap `(P, 1)`, phi_an `(P, B)`,
    delta = phi_ap − phi_an `(P, B)`, near `NOT_A_TRIPLET` where not `index.valid`. Each is computed when asked for.
    classes: `(B,)` identities among all of the training set, 0, 1, …; the labels of `index` count within the batch.
    """

    embeddings: Tensor
    index: TripletIndex
    classes: Tensor
    phi: Tensor

    @property
    def phi_ap(self) -> Tensor:
        """φ_ap of every ordered positive pair `(P, 1)`."""
        return self.phi.take(self.index.pair)[:, None]

    @property
    def phi_an(self) -> Tensor:
        """φ_an of every ordered positive pair and column `(P, B)`."""
        return self.phi.index_select(0, self.index.anchor)

    @property
    def delta(self) -> Tensor:
        """Δ of every ordered positive pair and column `(P, B)`."""
        return self.index.delta(self.phi)

    @property
    def triplet_values(self) -> Tensor:
        """Δ of every triplet `(index.triplets,)`, without gradient."""
        return self.index.delta(self.phi.detach()).flatten().index_select(0, self.index.triplet_places)

    @property
    def negative_values(self) -> Tensor:
        """φ_an of every negative pair `(index.negatives,)`, without gradient."""
        return self.phi.detach().flatten().index_select(0, self.index.negative_places)

    @classmethod
    def of(cls, embeddings: Tensor, index: TripletIndex, classes: Tensor) -> Similarities:
        return cls(embeddings, index, classes, _Gram.apply(embeddings))

    @classmethod
    def of_labels(cls, embeddings: Tensor, labels: Tensor) -> Similarities:
        """Return a batch by itself: unit embeddings `(B, D)` and the identities `(B,)` of its images, 0, 1, …"""
        return cls.of(embeddings, TripletIndex.of(labels), labels)


class _Gram(torch.autograd.Function):
    """E Eᵀ `(B, B)` of E `(B, D)`. Its gradient (G + Gᵀ) E is one product, where autograd would make two."""

    @staticmethod
    def forward(ctx: Any, embeddings: Tensor) -> Tensor:
        ctx.save_for_backward(embeddings)
        return embeddings @ embeddings.T

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (embeddings,) = ctx.saved_tensors
        return (gradient + gradient.T) @ embeddings


def unit(embeddings: Tensor) -> Tensor:
    """Return rows of `(B, D)` scaled to length 1; rows shorter than 1e-3 are scaled by 1000 instead.

    The floor bounds the gradient at a zero vector by 1000 (the usual 1e-12 lets it reach 1e12).
    """
    scaled: Tensor = _Unit.apply(embeddings)
    return scaled


class _Unit(torch.autograd.Function):
    """U = E / max(‖E‖, 1e-3) by rows; its gradient (G − (U · G) U) / max(‖E‖, 1e-3) in half of autograd's steps."""

    @staticmethod
    def forward(ctx: Any, embeddings: Tensor) -> Tensor:
        length = torch.linalg.vector_norm(embeddings, dim=1, keepdim=True)
        floored = length.clamp_min(MIN_LENGTH)
        scaled = embeddings / floored
        ctx.save_for_backward(scaled, floored, length.ge_(MIN_LENGTH))
        return scaled

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        scaled, floored, free = ctx.saved_tensors
        radial = (scaled * gradient).sum(dim=1, keepdim=True) * free
        return torch.addcmul(gradient, radial, scaled, value=-1).div_(floored)
