"""Embeddings to retrieve from, and comparisons of what comes out."""

import numpy as np
import pytest
import torch

from fmim_core.metric_names import METRICS
from fmim_core.metrics import retrieval


def scenario(seed, tied, same_set=False, queries=24, gallery=31, identities=9):
    """Random embeddings, identities and years. Tied ones repeat few vectors, a zero vector among them."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 5)) if tied else int(rng.integers(2, 20))

    def draw(n):
        return rng.integers(-1, 2, (n, width)).astype(float) if tied else rng.standard_normal((n, width))

    images, image_ids = draw(gallery), rng.integers(0, identities, gallery)
    if same_set:
        return images, images, image_ids, image_ids, rng.integers(1, 4, gallery)
    ids = rng.integers(0, identities + 2, queries)  # some have no match
    return draw(queries), images, ids, image_ids, rng.integers(1, 4, queries)


def clustered(queries, gallery, identities, width=16, seed=0):
    """Untied float32 embeddings around a centre for each identity."""
    generator = torch.Generator().manual_seed(seed)
    ids, image_ids = torch.arange(queries) % identities, torch.arange(gallery) % identities
    centres = torch.randn(identities, width, generator=generator)
    noise = torch.randn(queries + gallery, width, generator=generator)
    vectors = centres[torch.cat([ids, image_ids])] + noise
    return vectors[:queries], vectors[queries:], ids, image_ids


def ranked(pattern):
    """A query and a gallery, most similar image first, that match where `pattern` has a 1."""
    angles = torch.linspace(0.1, 1.5, len(pattern), dtype=torch.float64)
    images = torch.stack([angles.cos(), angles.sin()], dim=1)
    return torch.tensor([[1.0, 0.0]], dtype=torch.float64), images, [1], [int(match) for match in pattern]


def equal(a, b, tolerance=1e-12):
    """Assert that two results have the same keys and, up to the tolerance, the same values."""
    assert a.keys() == b.keys()
    assert a == pytest.approx(b, abs=tolerance, rel=0, nan_ok=True)


def by_names(*data, **options):
    """The means of retrieval alone, without counts and years."""
    result = retrieval(*data, **options)
    return {name: result[name] for name in METRICS}
