"""Some images of a bank, with who is on them and when: what training and evaluation see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Some images of a bank: what training and evaluation see.

    `images` uint8 `(N, H, W)` is the WHOLE bank, memory-mapped; `rows` int64 `(n,)` says which of them these
    are. `subjects` and `sides` ("", "L", "R") are text `(n,)`; `months` float64 `(n,)` is months after the
    subject's baseline, NaN where unknown (such images are trained on and never evaluated).
    """

    images: np.ndarray
    rows: np.ndarray
    subjects: np.ndarray
    sides: np.ndarray
    months: np.ndarray

    @classmethod
    def of(cls, index: pd.DataFrame, images: np.ndarray) -> ImageSet:
        """The images of the rows of `index` (`source.INDEX_COLUMNS` and `row`) in the bank `images`."""
        return cls(
            images,
            rows=index["row"].astype(np.int64).to_numpy(),
            subjects=index["subject"].to_numpy().astype(str),
            sides=index["side"].to_numpy().astype(str),
            months=index["months"].to_numpy(np.float64),
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles a memory-mapped bank as its path: a worker must never be sent the images themselves."""
        images: Any = self.images
        if isinstance(images, np.memmap):
            images = (str(images.filename), images.shape)
        return _unpickle_image_set, (images, self.rows, self.subjects, self.sides, self.months)

    def select(self, mask: np.ndarray) -> ImageSet:
        """The images where `mask` (booleans `(n,)`, or positions) holds; the bank itself is shared, not copied."""
        return ImageSet(self.images, self.rows[mask], self.subjects[mask], self.sides[mask], self.months[mask])

    def identities(self, per_side: bool = False) -> np.ndarray:
        """Identity of each image, int64 `(n,)`: 0, 1, ... in the sorted order of subject (or of subject/side)."""
        names = self.subjects
        if per_side:
            names = np.array([f"{a}/{b}" for a, b in zip(self.subjects, self.sides, strict=True)], dtype=str)
        return np.unique(names, return_inverse=True)[1].astype(np.int64)

    @property
    def gallery_mask(self) -> np.ndarray:
        """Baseline images, bool `(n,)`."""
        return self.months == 0

    @property
    def query_mask(self) -> np.ndarray:
        """Images of later visits, bool `(n,)`; false where the month is unknown."""
        return self.months > 0

    def matched_query_mask(self, per_side: bool = False) -> np.ndarray:
        """Queries whose identity is in this set's gallery, bool `(n,)`: only these can be scored."""
        identities = self.identities(per_side)
        return self.query_mask & np.isin(identities, identities[self.gallery_mask])

    @property
    def years(self) -> np.ndarray:
        """Years after baseline, int64 `(n,)`: floor(months/12 + 1/2), at least 1 for any later visit; −1 unknown."""
        known = np.nan_to_num(self.months, nan=0.0)
        years = np.floor(known / 12 + 0.5).astype(np.int64)
        years = np.where(self.query_mask, np.maximum(years, 1), years)
        return np.where(np.isnan(self.months), -1, years)

    def summary(self) -> dict[str, Any]:
        """Counts for a report: images, subjects, queries, those without a match (of the same subject, whatever the
        side), gallery, and images by year ("unknown" where NaN).
        """
        years, counts = np.unique(self.years, return_counts=True)
        return {
            "images": len(self),
            "subjects": len(np.unique(self.subjects)),
            "queries": int(self.query_mask.sum()),
            "queries_without_match": int((self.query_mask & ~self.matched_query_mask()).sum()),
            "gallery": int(self.gallery_mask.sum()),
            "years": {"unknown" if year < 0 else str(year): int(n) for year, n in zip(years, counts, strict=True)},
        }


def _unpickle_image_set(images: Any, *columns: np.ndarray) -> ImageSet:
    if isinstance(images, tuple):
        images = np.memmap(images[0], dtype=np.uint8, mode="r", shape=images[1])
    return ImageSet(images, *columns)
