"""A few queries with what was found for them: the retrieval samples of Fig. 1(a) and Suppl. Fig. 3."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fmim_core.data.bank.image_set import ImageSet
from fmim_core.data.splits import shuffled_subjects
from fmim_core.records import RetrievalSample

COUNT = 5


def sample_queries(images: ImageSet, per_side: bool = False, count: int = COUNT) -> np.ndarray:
    """Positions of up to `count` queries, alike for every method: the latest one with a match of subjects by hash."""
    matched = images.matched_query_mask(per_side)
    latest = []
    for subject in shuffled_subjects(images.subjects[matched].tolist(), "samples", 0)[:count]:
        own = np.flatnonzero(matched & (images.subjects == subject))
        latest.append(own[np.argmax(images.months[own])])
    return np.array(latest, dtype=np.int64)


def retrieval_samples(embeddings: Tensor, images: ImageSet, per_side: bool = False) -> tuple[RetrievalSample, ...]:
    """For each sampled query the images' rows in the bank: its own, the nearest match's, the top-1's; and the rank.

    Args:
        embeddings: `(n, D)` of unit length, of all images of the set.

    Among equal similarities other identities' images come first.
    """
    identities = images.identities(per_side)
    gallery = np.flatnonzero(images.gallery_mask)
    keys = embeddings[torch.from_numpy(gallery)].double().cpu()
    samples = []
    for query in sample_queries(images, per_side):
        similarity = (keys @ embeddings[int(query)].double().cpu()).numpy()
        own = identities[gallery] == identities[query]
        truth = int(np.argmax(np.where(own, similarity, -np.inf)))
        rank = 1 + int((similarity[~own] >= similarity[truth]).sum())
        top = truth if rank == 1 else int(np.argmax(np.where(own, -np.inf, similarity)))
        query_row, truth_row, top_row = images.rows[[query, gallery[truth], gallery[top]]].tolist()
        years = int(images.years[query])
        samples.append(
            RetrievalSample(query_row=query_row, truth_row=truth_row, top_row=top_row, rank=rank, years=years)
        )
    return tuple(samples)
