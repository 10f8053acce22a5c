"""How long scoring takes, beside a scikit-learn loop and pytorch-metric-learning.

The first part has the size and the matches per query of ChestX-ray14's test set (12,450 queries, 13,137 gallery images,
2,797 subjects, D = 128); the second, 100,000 x 100,000 in a process of its own, shows the peak memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN
from sklearn.metrics import average_precision_score

from fmim_core.metrics import retrieval
from tests.benchmarks.measurement import Measurement, alone, median_pair, synchronise

DIMENSIONS = 128
LARGE = 100_000
PEAK_GIB, ON_GPU_S, LOOP, PEER = 4.0, 0.1, 1 / 4, 1.0
"""What is asked: GiB at 100,000 x 100,000, seconds on a GPU, and ratios on a CPU."""
# (baseline images of a subject, subjects with as many, later images of them all)
CHESTXRAY14 = """
1 1669 3618, 2 301 1976, 3 132 1308, 4 88 653, 5 77 671, 6 53 409, 7 54 454, 8 55 608, 9 36 217, 10 23 242, 11 23 90,
12 28 151, 13 27 192, 14 22 178, 15 18 129, 16 6 21, 17 14 158, 18 8 39, 19 15 208, 20 9 96, 21 8 18, 22 7 3, 23 6 2,
24 7 42, 25 10 171, 26 8 43, 27 3 2, 28 4 15, 29 6 35, 30 4 15, 31 3 8, 32 2 1, 33 1 0, 34 6 72, 35 3 31, 36 4 11,
37 1 0, 38 2 8, 39 2 18, 40 1 76, 41 8 10, 42 3 24, 43 1 43, 44 2 0, 46 3 68, 47 1 0, 48 1 17, 49 2 0, 50 1 0,
51 2 20, 52 1 0, 53 3 71, 55 1 22, 56 1 0, 60 2 2, 61 2 0, 64 1 12, 66 1 2, 67 1 117, 68 1 0, 69 2 0, 74 1 0, 76 1 1,
79 1 0, 81 1 0, 84 1 0, 89 1 1, 108 1 0, 111 1 0, 119 1 0, 133 1 40, 146 1 11
"""


def chestxray14_identities() -> tuple[np.ndarray, np.ndarray]:
    """Identities of queries (12450,) and gallery (13137,) with the real numbers of matches."""
    queries, gallery, subjects = [], [], 0
    for entry in CHESTXRAY14.split(","):
        images, count, later = map(int, entry.split())
        group = np.arange(subjects, subjects + count)
        queries.append(np.resize(group, later))
        gallery.append(np.repeat(group, images))
        subjects += count
    return np.concatenate(queries), np.concatenate(gallery)


def embeddings(query_ids: np.ndarray, gallery_ids: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """float32 embeddings of middling quality: a centre for each identity, and noise half as large again."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(max(query_ids.max(), gallery_ids.max()) + 1, DIMENSIONS, generator=generator)

    def draw(ids: np.ndarray) -> torch.Tensor:
        return centres[torch.from_numpy(ids)] + 1.5 * torch.randn(len(ids), DIMENSIONS, generator=generator)

    return draw(query_ids), draw(gallery_ids)


def scikit_learn_loop(
    query: torch.Tensor, gallery: torch.Tensor, query_ids: np.ndarray, gallery_ids: np.ndarray
) -> float:
    """mAP alone, one call a query."""
    query, gallery = (torch.nn.functional.normalize(side) for side in (query, gallery))
    precisions = []
    for rows, ids in zip(query.split(256), np.split(query_ids, range(256, len(query_ids), 256)), strict=True):
        for similarities, identity in zip((rows @ gallery.T).numpy(), ids, strict=True):
            precisions.append(average_precision_score(gallery_ids == identity, similarities))
    return float(np.mean(precisions))


def pytorch_metric_learning(
    query: torch.Tensor, gallery: torch.Tensor, query_ids: np.ndarray, gallery_ids: np.ndarray
) -> float:
    """mAP@R alone, in its fastest setting without faiss: its own k-nn, in batches, k no larger than R."""
    calculator = AccuracyCalculator(
        include=("mean_average_precision_at_r",),
        k="max_bin_count",
        knn_func=CustomKNN(CosineSimilarity(), batch_size=256),
        kmeans_func=lambda *_: None,  # or it asks for faiss
        device=query.device,
    )
    labels = (torch.from_numpy(ids).to(query.device) for ids in (query_ids, gallery_ids))
    return calculator.get_accuracy(query, next(labels), gallery, next(labels))["mean_average_precision_at_r"]


def measure(
    device: torch.device, repeats: int = 3, large_size: int = LARGE, one_query_of: int = 1
) -> Iterator[Measurement]:
    """Every metric over 12 years at ChestX-ray14's size, float32 unless said otherwise; then the large part.

    Args:
        one_query_of: the loop goes through one query of so many, and its seconds count as many times.
    """
    ids = chestxray14_identities()
    query, gallery = (side.to(device) for side in embeddings(*ids))
    data = (query, gallery, *ids)
    years = np.arange(len(ids[0])) % 12 + 1
    ours, theirs = [], []
    for _ in range(repeats):  # in turn, so that whatever else runs slows both
        seconds, scores = timed(retrieval, *data, years)
        ours.append(seconds)
        seconds, at_r = timed(pytorch_metric_learning, *data)
        theirs.append(seconds)
    best, what = min(ours), "every metric, 12 years, ChestX-ray14's size"
    pair = median_pair(ours, theirs)
    note = f"mAP@R differs by {abs(at_r - scores['mAP_at_R']):.1e}"
    against = "pytorch-metric-learning, mAP@R alone"
    yield Measurement("retrieval", what, pair[0], against, pair[1], PEER, note)
    if device.type == "cuda":
        yield Measurement("retrieval", what, best, "100 ms", ON_GPU_S, 1.0)
    else:
        some = (query[::one_query_of], gallery, ids[0][::one_query_of], ids[1])
        loop, mean = timed(scikit_learn_loop, *some)
        note = f"mAP differs by {abs(mean - retrieval(*some)['mAP']):.1e}"
        against = "scikit-learn, a loop, mAP alone"
        yield Measurement("retrieval", what, best, against, one_query_of * loop, LOOP, note)
    double = min(timed(retrieval, query.double(), gallery.double(), *ids, years)[0] for _ in range(repeats))
    yield Measurement("retrieval", "  the same in float64", double, "float32", best)
    yield _large(device, large_size)


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds, and what the function returned."""
    synchronise()
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def _large(device: torch.device, size: int) -> Measurement:
    """Ten matches a query; on a CPU the memory of the whole process, libraries and embeddings included."""
    (seconds, of_gpu), _, of_process = alone(_score_large, size, str(device), torch.get_num_threads())
    gib = of_process if device.type == "cpu" else of_gpu
    what = f"peak memory of {size:,} x {size:,}"
    return Measurement("retrieval", what, gib, "4 GiB", PEAK_GIB, 1.0, f"in {seconds:.1f} s", unit="GiB")


def _score_large(size: int, device: str, threads: int) -> tuple[float, float]:
    torch.set_num_threads(threads)
    identities = np.arange(size) % max(1, size // 10)
    vectors = [side.to(device) for side in embeddings(identities, identities)]
    seconds, _ = timed(retrieval, *vectors, identities, identities)
    return seconds, torch.cuda.max_memory_allocated() / 2**30
