"""Who is where in a study's folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmim_core.data.image_set import ImageSet
from fmim_core.data.splits import Fold
from fmim_core.records import FoldEntry


def fold_sizes(folds: Sequence[Fold], per_side: bool) -> list[FoldEntry]:
    """Count who is where in each fold; of its queries those that can be scored, by time, and those without a match.

    `validation_times_missing` are the times of all folds that one cannot score: it has no part in the mean over folds
    of such a time.
    """
    times = {time for fold in folds for time in _queries_by_time(fold.validation, per_side)}
    return [_sizes(fold, per_side, times) for fold in folds]


def _sizes(fold: Fold, per_side: bool, times: set[int]) -> FoldEntry:
    by_time = _queries_by_time(fold.validation, per_side)
    scored = int(fold.validation.matched_query_mask(per_side).sum())
    return FoldEntry(
        fold=fold.number,
        train_subjects=len(set(fold.train.subjects)),
        train_images=len(fold.train),
        validation_subjects=len(set(fold.validation.subjects)),
        validation_images=len(fold.validation),
        validation_gallery=int(fold.validation.gallery_mask.sum()),
        validation_queries=scored,
        validation_queries_without_match=int(fold.validation.query_mask.sum()) - scored,
        validation_queries_by_time={str(time): count for time, count in by_time.items()},
        validation_times_missing=sorted(times - set(by_time)),
    )


def _queries_by_time(images: ImageSet, per_side: bool) -> dict[int, int]:
    """Return the queries with a match whose time is known, by time after baseline."""
    scored = images.times[images.matched_query_mask(per_side)]
    times, counts = np.unique(scored[scored >= 0], return_counts=True)
    return dict(zip(times.tolist(), counts.tolist(), strict=True))
