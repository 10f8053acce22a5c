"""Roles of images, which are searched for and which are searched: as a table says, or by months after baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

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
    neither: str = "without a role: in neither"
    about: str = ""


BY_MONTHS = Protocol(
    pair="an image at month 0 and a later one",
    unmatched="subjects with later visits and no baseline image",
    gallery="gallery: baseline",
    neither="months unknown: in neither",
)
BY_ROLE = Protocol(
    pair="a gallery image and a query",
    unmatched="subjects with queries and no gallery image",
    about="; its column role says which are gallery and which queries",
)
SAME_SET = Protocol(
    pair="two images of the role both",
    unmatched="subjects with one image of the role both",
    gallery="gallery, and queries as well",
    about="; every image of the role both is query and gallery, itself left out",
)


def protocol_of(index: pd.DataFrame) -> Protocol:
    """Return that of an index: by months where it has no column `role`."""
    if "role" not in index:
        return BY_MONTHS
    return SAME_SET if (index["role"] == BOTH).any() else BY_ROLE


def roles_of(index: pd.DataFrame) -> np.ndarray:
    """Return the role of each image, text `(n,)`: by the column `role`; without it gallery = month 0, query = later."""
    if "role" in index:
        return index["role"].fillna("").to_numpy().astype(str)
    months = index["months"].to_numpy().astype(np.float64)
    return np.select([months == 0, months > 0], ["gallery", "query"], "")


def mixed_roles(roles: np.ndarray) -> dict[str, int]:
    """Return role → images, where `both` stands beside gallery or query, which no search can honour; else nothing."""
    names, counts = np.unique(roles[roles != ""], return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True)) if BOTH in names and len(names) > 1 else {}


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
