"""The pairs and triplets of a batch, as dense similarities: the one structure that losses and statistics read."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class TripletIndex:
    """Who is whose positive and negative in a batch of labels `(B,)`.

    anchor, positive: `(P,)` positions of every ordered pair with equal labels and different positions.
    negative: `(B, B)` bool, true where labels differ.
    A triplet is a pair p and a column n with `negative[anchor[p], n]`.
    """

    labels: Tensor
    anchor: Tensor
    positive: Tensor
    negative: Tensor

    @classmethod
    def of(cls, labels: Tensor) -> TripletIndex:
        same = labels[:, None] == labels[None, :]
        pairs = same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        anchor, positive = pairs.nonzero(as_tuple=True)
        return cls(labels, anchor, positive, ~same)


@dataclass(frozen=True)
class Similarities:
    """Cosine similarities of a batch of unit embeddings `(B, D)`.

    phi: `(B, B)`. For triplets, by ordered positive pair and candidate negative: phi_ap `(P, 1)`, phi_an `(P, B)`,
    delta = phi_ap − phi_an `(P, B)`, and `valid` `(P, B)`, true where the column is a negative of the anchor.
    negative_pairs: `(B, B)` bool, each unordered pair of different labels once.
    classes: `(B,)` identities among all of the training set, 0, 1, …; the labels of `index` count within the batch.
    """

    embeddings: Tensor
    index: TripletIndex
    classes: Tensor
    phi: Tensor
    phi_ap: Tensor
    phi_an: Tensor
    delta: Tensor
    valid: Tensor
    negative_pairs: Tensor

    @classmethod
    def of(cls, embeddings: Tensor, index: TripletIndex, classes: Tensor) -> Similarities:
        phi = embeddings @ embeddings.T
        phi_ap = phi[index.anchor, index.positive][:, None]
        phi_an = phi[index.anchor]
        return cls(
            embeddings,
            index,
            classes,
            phi,
            phi_ap,
            phi_an,
            phi_ap - phi_an,
            index.negative[index.anchor],
            index.negative.triu(diagonal=1),
        )


def unit(embeddings: Tensor) -> Tensor:
    """Rows of `(B, D)` scaled to length 1; rows shorter than 1e-3 are scaled by 1000 instead.

    The floor bounds the gradient at a zero vector by 1000 (the usual 1e-12 lets it reach 1e12).
    """
    return functional.normalize(embeddings, dim=1, eps=1e-3)
