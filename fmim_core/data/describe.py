"""A data set in numbers: the paper's two tables of its data (Suppl. Table 2), for any index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fmim_core.data.bank.image_set import ImageSet


@dataclass(frozen=True)
class Counts:
    """What is in one split.

    male_percent: of the images whose sex is known; None where it is known of none.
    with_disease: images said to show one; None where no image says yes or no.
    queries: images of later visits by year after baseline (`ImageSet.years`), those without a match included.
    queries_without_match: of subjects who have no baseline image in the split.
    months_unknown: images that are trained on and never evaluated.
    """

    images: int
    subjects: int
    sex_known: int
    male_percent: float | None
    disease_known: int
    with_disease: int | None
    gallery: int
    queries: dict[int, int]
    queries_without_match: int
    months_unknown: int


def describe(index: pd.DataFrame) -> dict[str, Counts]:
    """The counts of "train" and "test"; rows without a usable image, subject or split are in neither."""
    usable = index.dropna(subset=["image", "subject", "split"])
    return {split: _counts(usable[usable["split"] == split]) for split in ("train", "test")}


def _counts(part: pd.DataFrame) -> Counts:
    images = ImageSet.of(part.assign(row=np.arange(len(part))), np.empty((0, 1, 1), np.uint8))
    males, sexes = _share(part, "sex", "M", "F")
    diseased, known = _share(part, "disease", "yes", "no")
    years, queries = np.unique(images.years[images.query_mask], return_counts=True)
    return Counts(
        images=len(images),
        subjects=len(np.unique(images.subjects)),
        sex_known=sexes,
        male_percent=100 * males / sexes if sexes else None,
        disease_known=known,
        with_disease=diseased if known else None,
        gallery=int(images.gallery_mask.sum()),
        queries=dict(zip(years.tolist(), queries.tolist(), strict=True)),
        queries_without_match=int((images.query_mask & ~images.matched_query_mask()).sum()),
        months_unknown=int(np.isnan(images.months).sum()),
    )


def _share(part: pd.DataFrame, name: str, value: str, other: str) -> tuple[int, int]:
    """Images with `value` in a column, and those with either value; none where there is no such column."""
    if name not in part:
        return 0, 0
    count = int((part[name] == value).sum())
    return count, count + int((part[name] == other).sum())
