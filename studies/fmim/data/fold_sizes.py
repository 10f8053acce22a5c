"""Who is where in a study's folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmim_core.data.bank.image_set import ImageSet
from fmim_core.data.splits import Fold
from fmim_core.records import FoldEntry


def fold_sizes(folds: Sequence[Fold], per_side: bool) -> list[FoldEntry]:
    """Who is where in each fold; of its queries those that can be scored, by year, and those without a match.

    `validation_years_missing` are the years of all folds that one cannot score: it has no part in the mean over folds
    of such a year.
    """
    years = {year for fold in folds for year in _queries_by_year(fold.validation, per_side)}
    return [_sizes(fold, per_side, years) for fold in folds]


def _sizes(fold: Fold, per_side: bool, years: set[int]) -> FoldEntry:
    by_year = _queries_by_year(fold.validation, per_side)
    return FoldEntry(
        fold=fold.number,
        train_subjects=len(set(fold.train.subjects)),
        train_images=len(fold.train),
        validation_subjects=len(set(fold.validation.subjects)),
        validation_images=len(fold.validation),
        validation_gallery=int(fold.validation.gallery_mask.sum()),
        validation_queries=sum(by_year.values()),
        validation_queries_without_match=int(fold.validation.query_mask.sum()) - sum(by_year.values()),
        validation_queries_by_year={str(year): count for year, count in by_year.items()},
        validation_years_missing=sorted(years - set(by_year)),
    )


def _queries_by_year(images: ImageSet, per_side: bool) -> dict[int, int]:
    """Queries with a match, by year after baseline."""
    years, counts = np.unique(images.years[images.matched_query_mask(per_side)], return_counts=True)
    return dict(zip(years.tolist(), counts.tolist(), strict=True))
