"""Retrieval samples: chosen alike for every method, with rows and ranks computed by hand."""

from __future__ import annotations

import numpy as np
import torch

from fmim_core.data.bank.image_set import ImageSet
from fmim_core.records import RetrievalSample
from fmim_core.trial.samples import retrieval_samples, sample_queries


def image_set() -> ImageSet:
    """Subjects a, b, c with a baseline and later visits; d has no baseline, so its visit is never a sample."""
    subjects = np.array(["a", "b", "c", "a", "a", "b", "d"])
    months = np.array([0, 0, 0, 12, 36, 24, 12], dtype=np.float64)
    rows = np.arange(10, 17)
    return ImageSet(np.zeros((20, 2, 2), np.uint8), rows, subjects, np.full(7, ""), months)


def test_the_latest_matched_query_of_each_subject_is_taken() -> None:
    assert sorted(sample_queries(image_set()).tolist()) == [4, 5]
    assert len(sample_queries(image_set(), count=1)) == 1


def test_rows_and_ranks() -> None:
    #                            a       b       c       a12     a36       b24      d
    angles = torch.tensor([0.0, 1.0, 2.0, 0.1, 1.6, 1.1, 0.5])
    embeddings = torch.stack([angles.cos(), angles.sin()], dim=1)
    samples = {sample.query_row: sample for sample in retrieval_samples(embeddings, image_set())}
    # a at 36 months lies at 1.6: nearest are c (0.4 away) and b (0.6), its own baseline (1.6) is third.
    assert samples[14] == RetrievalSample(query_row=14, truth_row=10, top_row=12, rank=3, years=3)
    assert samples[15] == RetrievalSample(query_row=15, truth_row=11, top_row=11, rank=1, years=2)


def test_a_collapsed_embedding_is_ranked_last() -> None:
    samples = retrieval_samples(torch.ones(7, 2) / 2**0.5, image_set())
    assert [sample.rank for sample in samples] == [3, 3]
