"""Some images of a bank: who is on them and when, which are searched and which searched for, and how many of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.metric_names import YEAR, Interval

ROLES = ("", "gallery", "query", "both")
"""Values of the column `role` of an index; blank: the image is trained on, and never evaluated."""
BOTH = "both"


@dataclass(frozen=True)
class Protocol:
    """Words for how queries and gallery of a data set are told apart.

    pair: what a subject needs to be scored. unmatched: whose queries have no match. gallery, neither: images of that
    kind. about: the end of a sentence on the data set.
    """

    pair: str
    unmatched: str
    gallery: str = "gallery"
    neither: str = "in neither (no role)"
    about: str = ""


BY_MONTHS = Protocol(
    pair="an image at month 0 and a later one",
    unmatched="subjects with later visits but no baseline image",
    gallery="gallery: baseline",
    neither="in neither (months unknown)",
)
BY_ROLE = Protocol(
    pair="a gallery image and a query",
    unmatched="subjects with queries but no gallery image",
    about="; its column role says which are gallery and which queries",
)
SAME_SET = Protocol(
    pair="two images with the role both",
    unmatched="subjects with only one image with the role both",
    gallery="gallery and queries",
    about="; each image with the role both is searched for among all others",
)


def protocol_of(index: pd.DataFrame) -> Protocol:
    """Return that of an index: by months where it has no column `role`."""
    if "role" not in index:
        return BY_MONTHS
    return SAME_SET if set(index["role"]) <= {"", BOTH} else BY_ROLE


def roles_of(index: pd.DataFrame) -> np.ndarray:
    """Return the role of each image, text `(n,)`: by the column `role`; without it gallery = month 0, query = later."""
    if "role" in index:
        return index["role"].fillna("").to_numpy().astype(str)
    months = index["months"].to_numpy().astype(np.float64)
    return np.select([months == 0, months > 0], ["gallery", "query"], "")


def mixed_roles(index: pd.DataFrame) -> list[str]:
    """Name each split that has `both` beside gallery or query, which no search can honour, with its images by role."""
    counts = {split: Counter(filter(None, roles_of(part).tolist())) for split, part in index.groupby("split")}
    mixed = {split: sorted(roles.items()) for split, roles in counts.items() if BOTH in roles and len(roles) > 1}
    return [f"{split!s}: {', '.join(f'{count} {role}' for role, count in roles)}" for split, roles in mixed.items()]


def is_gallery(roles: np.ndarray) -> np.ndarray:
    """Find the images that are searched, bool `(n,)`."""
    return np.isin(roles, ("gallery", BOTH))


def is_query(roles: np.ndarray) -> np.ndarray:
    """Find the images that are searched for, bool `(n,)`."""
    return np.isin(roles, ("query", BOTH))


def is_matched(identities: np.ndarray, roles: np.ndarray) -> np.ndarray:
    """Find the queries of whose identity another image is in the gallery, bool `(n,)`: only these can be scored."""
    names, places = np.unique(identities, return_inverse=True)
    searched = is_gallery(roles)
    images = np.bincount(places[searched], minlength=len(names))
    return is_query(roles) & (images[places] - searched > 0)


def matched_subjects(index: pd.DataFrame) -> set[str]:
    """Return the subjects of an index with a query that has a match."""
    known = index.dropna(subset=["subject"])
    subjects = known["subject"].to_numpy().astype(str)
    return set(subjects[is_matched(subjects, roles_of(known))].tolist())


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Some images of a bank: what training and evaluation see.

    `images` uint8 `(N, H, W)`, or in colour `(N, H, W, 3)`, is the WHOLE bank, memory-mapped; `rows` int64 `(n,)` says
    which of them these are. `subjects` and `sides` ("", "L", "R") are text `(n,)`; `months` float64 `(n,)` is months
    after the subject's baseline, NaN where unknown. `roles`, text `(n,)` of `ROLES`, says which are gallery and which
    queries; those with neither role are trained on and never evaluated. Queries are grouped by `interval`.
    """

    images: np.ndarray
    rows: np.ndarray
    subjects: np.ndarray
    sides: np.ndarray
    months: np.ndarray
    roles: np.ndarray
    interval: Interval = YEAR

    @classmethod
    def of(cls, index: pd.DataFrame, images: np.ndarray, interval: Interval = YEAR) -> ImageSet:
        """Return the rows of `index` (`source.INDEX_COLUMNS`, `row`, perhaps `role`) as images of the bank `images`."""
        return cls(
            images,
            rows=index["row"].astype(np.int64).to_numpy(copy=True),
            subjects=index["subject"].to_numpy().astype(str),
            sides=index["side"].to_numpy().astype(str),
            months=index["months"].to_numpy(np.float64),
            roles=roles_of(index),
            interval=interval,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a memory-mapped bank as its path: a worker must never be sent the images themselves."""
        images: Any = self.images
        if isinstance(images, np.memmap):
            images = (str(images.filename), images.shape)
        return _unpickle_image_set, (images, *(getattr(self, part.name) for part in fields(self)[1:]))

    def select(self, mask: np.ndarray) -> ImageSet:
        """Return the images where `mask` (booleans `(n,)`, or positions) holds; the bank itself is not copied."""
        parts = ("rows", "subjects", "sides", "months", "roles")
        return replace(self, **{part: getattr(self, part)[mask] for part in parts})

    def identities(self, per_side: bool = False) -> np.ndarray:
        """Return identities, int64 `(n,)`: 0, 1, ... in the sorted order of subject (or of subject/side)."""
        names = self.subjects
        if per_side:
            names = np.array([f"{a}/{b}" for a, b in zip(self.subjects, self.sides, strict=True)], dtype=str)
        return np.unique(names, return_inverse=True)[1].astype(np.int64)

    @property
    def gallery_mask(self) -> np.ndarray:
        """Tell which images are searched, bool `(n,)`."""
        return is_gallery(self.roles)

    @property
    def query_mask(self) -> np.ndarray:
        """Tell which images are searched for, bool `(n,)`."""
        return is_query(self.roles)

    @property
    def same_set(self) -> bool:
        """Tell whether the queries are the gallery: each is then left out of its own ranking."""
        return BOTH in self.roles

    @property
    def all_pairs(self) -> ImageSet:
        """The same images, each of them gallery and query, itself left out."""
        return replace(self, roles=np.full(len(self), BOTH))

    def matched_query_mask(self, per_side: bool = False) -> np.ndarray:
        """Tell which queries have another image of their identity in this gallery, bool `(n,)`: these can be scored."""
        return is_matched(self.identities(per_side), self.roles)

    @property
    def times(self) -> np.ndarray:
        """Return intervals after baseline, int64 `(n,)`: floor(t/interval + 1/2), at least 1 of queries; −1 unknown."""
        known = np.nan_to_num(self.months, nan=0.0)
        times = np.floor(known / self.interval.months + 0.5).astype(np.int64)
        times = np.where(self.query_mask, np.maximum(times, 1), times)
        return np.where(np.isnan(self.months), -1, times)

    def summary(self) -> dict[str, Any]:
        """Count for a report: images, subjects, queries, those without a match (of the same subject, whatever the
        side), gallery, and images by time ("unknown" where NaN), under the name of the interval, e.g. "years".
        """
        times, counts = np.unique(self.times, return_counts=True)
        return {
            "images": len(self),
            "subjects": len(np.unique(self.subjects)),
            "queries": int(self.query_mask.sum()),
            "queries_without_match": int((self.query_mask & ~self.matched_query_mask()).sum()),
            "gallery": int(self.gallery_mask.sum()),
            self.interval.plural: {
                "unknown" if time < 0 else str(time): int(n) for time, n in zip(times, counts, strict=True)
            },
        }


def _unpickle_image_set(images: Any, *others: Any) -> ImageSet:
    if isinstance(images, tuple):
        images = np.memmap(images[0], dtype=np.uint8, mode="r", shape=images[1])
    return ImageSet(images, *others)


@dataclass(frozen=True)
class Counts:
    """Numbers of one split, as the paper's tables of its data have them (Suppl. Table 2).

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
