"""The pairs and triplets of a batch, as dense similarities: the one structure that losses and statistics read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

FAR = 8.0
"""Δ of what is no triplet: beyond [−2, 2] and beyond any margin, so that a hinge [ε − Δ]₊ is 0 there without a mask."""


@dataclass(frozen=True)
class TripletIndex:
    """Who is whose positive and negative in a batch of labels `(B,)`; made once, since labels repeat in every batch.

    anchor, positive: `(P,)` positions of every ordered pair with equal labels and different positions; `pair` their
    places in the flattened `(B, B)`. A triplet is a pair p and a column n with `valid[p, n]`.
    valid: `(P, B)` bool, true where the label of the column is not the anchor's; `far` is 0 there and `FAR` elsewhere.
    negative_pairs: `(B, B)` bool, each unordered pair of different labels once.
    triplet_places, negative_places: where those two masks are true, as places in the flattened matrices. A mask as an
    index would make the host wait for the device, to count.
    sums: `(3, B·B)` float64, the weights of φ in the sums of Δ over all triplets, of φ_an over all negative pairs and
    of φ_ap over all ordered positive pairs. With a positives and n negatives of an anchor, φ_ap is in n of its
    triplets and φ_an, with a minus, in a.
    triplets, negatives: how many triplets and negative pairs there are.
    """

    labels: Tensor
    anchor: Tensor
    positive: Tensor
    pair: Tensor
    valid: Tensor
    far: Tensor
    negative_pairs: Tensor
    triplet_places: Tensor
    negative_places: Tensor
    sums: Tensor
    triplets: int
    negatives: int

    @classmethod
    def of(cls, labels: Tensor) -> TripletIndex:
        negative = labels[:, None] != labels[None, :]
        positive = ~negative & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        anchors, positives = positive.nonzero(as_tuple=True)
        negative_pairs = negative.triu(diagonal=1)
        triplet_places, negative_places = (
            mask.flatten().nonzero().flatten() for mask in (negative[anchors], negative_pairs)
        )
        per_anchor = [side.sum(dim=1, keepdim=True, dtype=torch.float64) for side in (positive, negative)]
        delta = positive * per_anchor[1] - negative * per_anchor[0]
        return cls(
            labels=labels,
            anchor=anchors,
            positive=positives,
            pair=anchors * len(labels) + positives,
            valid=negative[anchors],
            far=FAR * (~negative[anchors]).float(),
            negative_pairs=negative_pairs,
            triplet_places=triplet_places,
            negative_places=negative_places,
            sums=torch.stack([delta, negative_pairs.double(), positive.double()]).flatten(1),
            triplets=len(triplet_places),
            negatives=len(negative_places),
        )


@dataclass(frozen=True)
class Similarities:
    """Cosine similarities of a batch of unit embeddings `(B, D)`.

    phi: `(B, B)`. For triplets, by ordered positive pair and candidate negative: phi_ap `(P, 1)`, phi_an `(P, B)`,
    delta = phi_ap − phi_an `(P, B)`, and near `FAR` where not `index.valid`.
    classes: `(B,)` identities among all of the training set, 0, 1, …; the labels of `index` count within the batch.
    """

    embeddings: Tensor
    index: TripletIndex
    classes: Tensor
    phi: Tensor
    phi_ap: Tensor
    phi_an: Tensor
    delta: Tensor

    @property
    def triplet_values(self) -> Tensor:
        """Δ of every triplet `(index.triplets,)`, without gradient."""
        return self.delta.detach().flatten().index_select(0, self.index.triplet_places)

    @property
    def negative_values(self) -> Tensor:
        """φ_an of every negative pair `(index.negatives,)`, without gradient."""
        return self.phi.detach().flatten().index_select(0, self.index.negative_places)

    @classmethod
    def of(cls, embeddings: Tensor, index: TripletIndex, classes: Tensor) -> Similarities:
        phi = embeddings @ embeddings.T
        # index_select rather than brackets: its backward adds whole rows instead of element by element.
        phi_ap = phi.flatten().index_select(0, index.pair)[:, None]
        phi_an = phi.index_select(0, index.anchor)
        return cls(embeddings, index, classes, phi, phi_ap, phi_an, phi_ap - phi_an + index.far)

    @classmethod
    def of_one_triplet(cls, phi_ap: Tensor, phi_an: Tensor) -> Similarities:
        """A batch of one triplet with those similarities, `(1, 1)` each, and no embeddings: for surfaces and tests."""
        index, nothing = TripletIndex.of(torch.tensor([0, 0, 1])), phi_ap.new_empty(0)
        index = replace(index, valid=torch.ones(1, 1, dtype=torch.bool))
        return cls(nothing, index, index.labels, nothing, phi_ap, phi_an, phi_ap - phi_an)


def unit(embeddings: Tensor) -> Tensor:
    """Rows of `(B, D)` scaled to length 1; rows shorter than 1e-3 are scaled by 1000 instead.

    The floor bounds the gradient at a zero vector by 1000 (the usual 1e-12 lets it reach 1e12).
    """
    return functional.normalize(embeddings, dim=1, eps=1e-3)
