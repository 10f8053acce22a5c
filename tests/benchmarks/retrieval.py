"""How long scoring takes, beside a scikit-learn loop and pytorch-metric-learning: python -m tests.benchmarks.retrieval

The first part has the size and the matches per query of ChestX-ray14's test set (12,450 queries, 13,137 gallery images,
2,797 subjects, D = 128); the second, 100,000 x 100,000 in a process of its own, shows the peak memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN
from sklearn.metrics import average_precision_score

from fmim_core.metrics import retrieval

DIMENSIONS = 128
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


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds, and what the function returned."""
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def compare(repeats: int) -> None:
    ids = chestxray14_identities()
    data = (*embeddings(*ids), *ids)
    years = np.arange(len(ids[0])) % 12 + 1
    print(f"ChestX-ray14's size: {len(ids[0]):,} queries x {len(ids[1]):,} images x {DIMENSIONS}, float32, CPU")
    ours, theirs = [], []
    for _ in range(repeats):  # in turn, so that whatever else runs slows both
        seconds, scores = timed(retrieval, *data, years)
        ours.append(seconds)
        seconds, at_r = timed(pytorch_metric_learning, *data)
        theirs.append(seconds)
    loop, mean = timed(scikit_learn_loop, *data)
    best = min(ours)
    print(f"  retrieval, every metric, 12 years     {best:7.2f} s")
    print(
        f"  pytorch-metric-learning, mAP@R alone  {min(theirs):7.2f} s   ours takes {best / min(theirs):.3f} of it; "
        f"mAP@R differs by {abs(at_r - scores['mAP_at_R']):.1e}"
    )
    print(
        f"  scikit-learn loop, mAP alone          {loop:7.2f} s   ours takes {best / loop:.3f} of it; "
        f"mAP differs by {abs(mean - scores['mAP']):.1e}"
    )
    seconds, _ = timed(retrieval, data[0].double(), data[1].double(), *ids)
    print(f"  retrieval of the same in float64      {seconds:7.2f} s", flush=True)


def large(size: int) -> None:
    identities = np.arange(size) % max(1, size // 10)
    vectors = embeddings(identities, identities)
    before = peak_gib()
    seconds, scores = timed(retrieval, *vectors, identities, identities)
    print(f"{size:,} x {size:,} x {DIMENSIONS}, 10 matches a query: {seconds:.1f} s, mAP {scores['mAP']:.4f}")
    print(f"  peak memory of the process {peak_gib():.2f} GiB, {before:.2f} GiB of it before scoring")


def peak_gib() -> float:
    """Peak resident memory of this process; Linux counts it in KiB, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of so many runs counts (default 3)")
    parser.add_argument("--skip-large", action="store_true", help="leave out 100,000 x 100,000 (a few minutes)")
    options = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} thread(s)")
    compare(options.repeats)
    if not options.skip_large:
        process = multiprocessing.get_context("spawn").Process(target=large, args=(100_000,))
        process.start()
        process.join()
        sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
