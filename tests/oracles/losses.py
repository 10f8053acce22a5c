"""Losses, selections and schedules as loops over triplets, straight from the paper's formulas."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

Triplet = tuple[int, int, int]


def triplets(labels: Sequence[int]) -> Iterator[Triplet]:
    """All (anchor, positive, negative) with y_a = y_p, a ≠ p, y_n ≠ y_a."""
    for a, p, n in itertools.product(range(len(labels)), repeat=3):
        if a != p and labels[a] == labels[p] and labels[a] != labels[n]:
            yield a, p, n


def negative_pairs(labels: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Each unordered pair of different labels once."""
    for i, j in itertools.combinations(range(len(labels)), 2):
        if labels[i] != labels[j]:
            yield i, j


def mean(terms: list[Tensor], zero: Tensor, averaging: str) -> Tensor:
    """Mean of the terms, or of the non-zero ones; 0 where there are none."""
    kept = [term for term in terms if averaging == "all" or term.item() > 0]
    return torch.stack(kept).mean() if kept else zero


def triplet_loss(
    e: Tensor, labels: Sequence[int], margin: Callable[[float], float], selection: str, averaging: str
) -> Tensor:
    """Mean over the selected triplets of [φ_an − φ_ap + ε]₊, with ε = margin(Δ) taken as a constant."""
    terms = []
    for a, p, n in triplets(labels):
        delta = e[a] @ e[p] - e[a] @ e[n]
        epsilon = margin(delta.item())
        if selection == "semihard" and not 0 < delta.item() <= epsilon:
            continue
        terms.append(torch.clamp(epsilon - delta, min=0))
    return mean(terms, 0 * e.sum(), averaging)


def wat_loss(e: Tensor, labels: Sequence[int], beta: float) -> Tensor:
    """WAT as the authors of AdaTriplet run it, step by step.

    1. Every triplet's margin ε = (2 − 2Δ)/(4 − β) + β, a number without gradient.
    2. Triplets with Δ ≤ ε are kept, of whatever sign Δ is. 3. Mean of their terms ε − Δ that are above 0.
    """
    terms = []
    for a, p, n in triplets(labels):
        delta = e[a] @ e[p] - e[a] @ e[n]
        margin = (2 - 2 * delta.item()) / (4 - beta) + beta
        if delta.item() - margin <= 0:
            terms.append(margin - delta)
    return mean(terms, 0 * e.sum(), "nonzero")


def negative_loss(e: Tensor, labels: Sequence[int], beta: float, pairs: str, averaging: str) -> Tensor:
    """Mean of [φ_an − β]₊ over unordered negative pairs, or over triplets."""
    chosen = negative_pairs(labels) if pairs == "unordered" else ((a, n) for a, _, n in triplets(labels))
    return mean([torch.clamp(e[a] @ e[n] - beta, min=0) for a, n in chosen], 0 * e.sum(), averaging)


def epoch_values(batches: Sequence[tuple[Tensor, Sequence[int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Δ of all triplets, φ_an of all negative pairs, φ_ap of all ordered positive pairs of an epoch."""
    delta, phi_an, phi_ap = [], [], []
    for e, labels in batches:
        phi = (e @ e.T).tolist()
        delta += [phi[a][p] - phi[a][n] for a, p, n in triplets(labels)]
        phi_an += [phi[i][j] for i, j in negative_pairs(labels)]
        same = itertools.permutations(range(len(labels)), 2)
        phi_ap += [phi[a][p] for a, p in same if labels[a] == labels[p]]
    return np.array(delta), np.array(phi_an), np.array(phi_ap)


def sct_loss(e: Tensor, labels: Sequence[int], lam: float) -> Tensor:
    """Mean over all triplets of λ φ_an where φ_an > φ_ap, else −log of the softmax of (φ_ap, φ_an) at φ_ap."""
    terms = []
    for a, p, n in triplets(labels):
        phi_ap, phi_an = e[a] @ e[p], e[a] @ e[n]
        softmax = phi_ap.exp() / (phi_ap.exp() + phi_an.exp())
        terms.append(lam * phi_an if phi_an > phi_ap else -softmax.log())
    return torch.stack(terms).mean()


def contrastive_loss(e: Tensor, labels: Sequence[int], m_pos: float, m_neg: float) -> Tensor:
    """Mean non-zero [d − m_pos]₊ over positive pairs plus mean non-zero [m_neg − d]₊ over negative pairs."""
    near, far = [], []
    for i, j in itertools.combinations(range(len(labels)), 2):
        d = (e[i] - e[j]).square().sum().sqrt()
        if labels[i] == labels[j]:
            near.append(torch.clamp(d - m_pos, min=0))
        else:
            far.append(torch.clamp(m_neg - d, min=0))
    return mean(near, 0 * e.sum(), "nonzero") + mean(far, 0 * e.sum(), "nonzero")


def arcface_loss(e: Tensor, labels: Sequence[int], weights: Tensor, degrees: float, scale: float) -> Tensor:
    """Mean of −log softmax of s·cos(θ + m) at the label; θ is the angle to each class vector (a column of weights)."""
    m = np.deg2rad(degrees)
    terms = []
    for row, label in zip(e, labels, strict=True):
        cosines = [row @ column / column.norm() for column in weights.T]
        theta = torch.acos(cosines[label])
        target = torch.cos(theta + m) if theta.item() <= np.pi - m else cosines[label] - m * np.sin(m)
        logits = torch.stack([scale * (target if c == label else cosine) for c, cosine in enumerate(cosines)])
        terms.append(torch.logsumexp(logits, 0) - logits[label])
    return torch.stack(terms).mean()


def softtriple_loss(
    e: Tensor, labels: Sequence[int], centres: Tensor, per_class: int, la: float, gamma: float, margin: float
) -> Tensor:
    """Mean of −log softmax of la·(S − margin at the label), S a softmax-weighted similarity to a class's centres."""
    terms = []
    for row, label in zip(e, labels, strict=True):
        phi = torch.stack([row @ column / column.norm() for column in centres.T]).split(per_class)
        similarity = torch.stack([(torch.softmax(k / gamma, 0) * k).sum() for k in phi])
        logits = la * torch.stack([s - margin * (c == label) for c, s in enumerate(similarity)])
        terms.append(torch.logsumexp(logits, 0) - logits[label])
    return torch.stack(terms).mean()
