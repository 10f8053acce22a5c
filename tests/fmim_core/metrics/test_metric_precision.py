"""Retrieval metrics: ties count against a query; order, scale, type and device change nothing."""

import numpy as np
import pytest
import torch

from fmim_core.metrics import retrieval
from fmim_core.metrics.ranks import ExactVectors, Matches
from fmim_core.metrics.scores import scores_by_tiles
from tests.oracles import retrieval as oracle
from tests.support.embeddings import clustered, equal


@pytest.mark.parametrize("vector", [[0.0, 0.0, 0.0], [0.3, -1.7, 0.9]])
def test_a_collapsed_embedding_scores_the_worst_possible(vector):
    ids = [0] * 3 + [1] * 17
    result = retrieval(np.tile(vector, (1, 1)), np.tile(vector, (20, 1)), [0], ids)
    assert result["mAP"] == pytest.approx((1 / 18 + 2 / 19 + 3 / 20) / 3, abs=1e-15)
    assert [result[name] for name in ("mAP_at_R", "CMC_1", "CMC_5", "CMC_10", "CMC_1_all_shots")] == [0] * 5
    assert result["mAP"] < result["chance_mAP"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("width", [3, 128, 500])
def test_duplicates_tie_wherever_they_are(width, dtype):
    """Equal vectors under different identities: the match must come after all of its copies, in every block."""
    generator = torch.Generator().manual_seed(width)
    copies, size = 7, 301
    query = torch.randn(40, width, generator=generator, dtype=dtype)
    gallery = torch.randn(size, width, generator=generator, dtype=dtype).abs().neg() * query[:1].sign()
    places = torch.randperm(size, generator=generator)[:copies]
    gallery[places] = query[0]  # the nearest to query 0, copies times over
    image_ids = torch.ones(size, dtype=torch.int64)
    image_ids[places[-1]] = 0
    vectors = [ExactVectors.of(side, dtype == torch.float64) for side in (query[:1], gallery)]
    matches = Matches.find(np.array([0]), image_ids.numpy(), False)
    for tile in ((1, 1), (1, 13), (8, 64), (8, 1000)):
        assert scores_by_tiles(*vectors, matches, tile).values["mAP"].tolist() == [1 / copies]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("seed", range(3))
def test_order_of_gallery_and_queries_changes_nothing(seed, dtype):
    query, gallery, ids, image_ids = clustered(97, 203, 30, width=67)
    gallery = torch.cat([gallery[:150], gallery[:53]]).to(dtype)  # copies, under other identities
    query, years = query.to(dtype), torch.arange(97) % 3
    generator = torch.Generator().manual_seed(seed)
    here, there = torch.randperm(203, generator=generator), torch.randperm(97, generator=generator)
    expected = retrieval(query, gallery, ids, image_ids, years)
    assert retrieval(query, gallery[here], ids, image_ids[here], years) == expected
    equal(retrieval(query[there], gallery, ids[there], image_ids, years[there]), expected, 1e-15)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("width", [1, 64, 512, 2048])
def test_similarities_are_exact_in_any_order_of_summation(width, double):
    generator = torch.Generator().manual_seed(width)
    a, b = (ExactVectors.of(torch.rand(20, width, generator=generator, dtype=torch.float64), double) for _ in range(2))
    similarities, order = a.similarity(b), torch.randperm(width, generator=generator)
    for part in (a, b):
        assert torch.equal(part.coarse * 2**26, (part.coarse * 2**26).round())
    shuffled = [ExactVectors(part.coarse[:, order], part.fine[:, order] if double else None) for part in (a, b)]
    assert torch.equal(shuffled[0].similarity(shuffled[1]), similarities)
    one_by_one = [[x.similarity(y).item() for y in (b[j : j + 1] for j in range(20))] for x in (a[3:4], a[19:20])]
    assert one_by_one == [similarities[3].tolist(), similarities[19].tolist()]


def test_float64_is_not_cut_to_float32():
    gallery = np.array([[1.0, 1.0 + 2e-12], [1.0, 1.0 + 1e-12], [1.0, 1.0]])
    assert [retrieval(np.array([[0.0, 1.0]]), gallery, [1], np.roll([1, 0, 0], i))["mAP"] for i in range(3)] == [
        1,
        1 / 2,
        1 / 3,
    ]


def test_similarities_are_as_accurate_as_the_type():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(2, 200, 128, generator=generator, dtype=torch.float64)
    truth = np.array([[oracle.cosine(a, b) for b in rows[1, :50].tolist()] for a in rows[0, :50].tolist()])
    for double, tolerance in ((False, 3e-8), (True, 1e-14)):
        a, b = (ExactVectors.of(side[:50], double) for side in rows)
        np.testing.assert_allclose(a.similarity(b).numpy(), truth, rtol=0, atol=tolerance)


def test_lengths_do_not_matter_however_small_or_large():
    query, gallery, ids, image_ids = clustered(20, 30, 6)
    scale = torch.tensor([2.0**-140, 1.0, 2.0**120])[torch.arange(30) % 3, None].double()
    expected = retrieval(query.double(), gallery.double(), ids, image_ids)
    assert retrieval(query.double() * 2.0**600, gallery.double() * scale * 2.0**-900, ids, image_ids) == expected


def test_every_way_to_give_the_same_data_gives_the_same_result():
    query, gallery, ids, image_ids = (part[:30] for part in clustered(30, 60, 10))
    expected = retrieval(query, gallery, ids, image_ids)
    names, image_names = ([f"subject {i}" for i in side.tolist()] for side in (ids, image_ids))
    assert retrieval(query.numpy(), gallery.numpy(), ids.tolist(), image_ids.numpy().astype("int16")) == expected
    assert retrieval(query, gallery, names, np.array(image_names, dtype=object)) == expected
    assert retrieval(query.T.contiguous().T, gallery.requires_grad_(), ids, image_ids) == expected
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert retrieval(query, gallery, ids, image_ids) == expected
    for dtype in (torch.float16, torch.bfloat16):
        halves = [side.detach().to(dtype) for side in (query, gallery)]
        assert retrieval(*halves, ids, image_ids) == retrieval(*(half.float() for half in halves), ids, image_ids)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same_result():
    query, gallery, ids, image_ids = clustered(300, 500, 40, width=128)
    result = retrieval(query.cuda(), gallery, ids.cuda(), image_ids)
    equal(result, retrieval(query, gallery, ids, image_ids))
