"""Splits of subjects: every image of a person, both sides and all visits, falls on one side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fmim_core.data.image_set import ImageSet


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of a cross-validation: `number` from 0, and the images on either side."""

    number: int
    train: ImageSet
    validation: ImageSet


def subject_folds(images: ImageSet, k: int, seed: int, per_side: bool = False) -> list[Fold]:
    """Return `k` folds by subject; each subject is in the validation part of exactly one.

    Subjects with a query that has a match are dealt out first and the others after them, each kind in a shuffled
    order, so that folds differ by at most one subject in either kind and in all. The split depends on `seed` and
    the subjects alone, not on the order of rows. `per_side` says what a match is: the same side, or any.

    Raises:
        ValueError: `k` is below 2 or above the subjects, a fold would have no query with a match to validate on,
            or fewer than two subjects to train on.
    """
    matched = set(images.subjects[images.matched_query_mask(per_side)].tolist())
    others = set(images.subjects.tolist()) - matched
    _check(k, len(matched), len(matched) + len(others))
    order = shuffled_subjects(matched, "folds", seed) + shuffled_subjects(others, "folds", seed)
    held_out = [np.isin(images.subjects, order[number::k]) for number in range(k)]
    return [Fold(number, images.select(~mask), images.select(mask)) for number, mask in enumerate(held_out)]


def shuffled_subjects(subjects: Iterable[str], role: str, seed: int) -> list[str]:
    """Return the distinct subjects in an order drawn by `seed` and `role`: that of SHA-256("role/seed/subject").

    A hash rather than a generator, since the order of two subjects then depends on no third one, nor on a
    library's version: a study that gains subjects keeps the order of the old ones.
    """
    return sorted(set(subjects), key=lambda name: hashlib.sha256(f"{role}/{seed}/{name}".encode()).digest())


def _check(k: int, matched: int, subjects: int) -> None:
    if k < 2:
        raise ValueError(f"{k} folds are not a cross-validation: give at least 2")
    if k > subjects:
        raise ValueError(f"{k} folds need at least {k} subjects, but there are {subjects}: use fewer folds")
    if k > matched:
        raise ValueError(
            f"{k} folds need at least {k} subjects with a query that has a match (a later image and a baseline image, "
            f"or as the column role says), but only {matched} of {subjects} have one: use fewer folds or more data"
        )
    if subjects - -(-subjects // k) < 2:
        raise ValueError(f"{k} folds of {subjects} subjects leave one to train on, without negatives: add subjects")
