"""A data set in numbers: the paper's two tables of its data (Suppl. Table 2), for any index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.data.image_set import ImageSet
from fmim_core.metric_names import Interval


@dataclass(frozen=True)
class Counts:
    """Numbers of one split.

    male_percent: of the images whose sex is known; None where it is known of none.
    with_disease: images said to show one; None where no image says yes or no.
    queries: by intervals after baseline (`ImageSet.times`), those without a match included.
    queries_undated: queries whose months are unknown.
    queries_without_match: of subjects who have no other image in the gallery of the split.
    months_unknown: images of unknown months. not_evaluated: images that are trained on, and neither gallery nor query.
    """

    images: int
    subjects: int
    sex_known: int
    male_percent: float | None
    disease_known: int
    with_disease: int | None
    gallery: int
    queries: dict[int, int]
    queries_undated: int
    queries_without_match: int
    months_unknown: int
    not_evaluated: int


def describe(index: pd.DataFrame, interval: Interval) -> dict[str, Counts]:
    """Count "train" and "test", queries by the interval; rows that lack what is counted by are in neither."""
    usable = index.dropna(subset=["image", "subject", "split"])
    return {split: _counts(usable[usable["split"] == split], interval) for split in ("train", "test")}


def _counts(part: pd.DataFrame, interval: Interval) -> Counts:
    images = ImageSet.of(part.assign(row=np.arange(len(part))), np.empty((0, 1, 1), np.uint8), interval)
    males, sexes = _share(part, "sex", "M", "F")
    diseased, known = _share(part, "disease", "yes", "no")
    asked = images.times[images.query_mask]
    times, queries = np.unique(asked[asked >= 0], return_counts=True)
    summary = images.summary()
    return Counts(
        images=summary["images"],
        subjects=summary["subjects"],
        sex_known=sexes,
        male_percent=100 * males / sexes if sexes else None,
        disease_known=known,
        with_disease=diseased if known else None,
        gallery=summary["gallery"],
        queries=dict(zip(times.tolist(), queries.tolist(), strict=True)),
        queries_undated=int((asked < 0).sum()),
        queries_without_match=summary["queries_without_match"],
        months_unknown=int(np.isnan(images.months).sum()),
        not_evaluated=int((~images.query_mask & ~images.gallery_mask).sum()),
    )


def _share(part: pd.DataFrame, name: str, value: str, other: str) -> tuple[int, int]:
    """Count the images with `value` in a column, and those with either value; none where there is no such column."""
    counts: Any = part[name].value_counts() if name in part else {}
    return int(counts.get(value, 0)), int(counts.get(value, 0) + counts.get(other, 0))
