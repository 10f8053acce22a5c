"""Which images are searched for and which are searched: as a table says, or by months after baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

ROLES = ("", "gallery", "query", "both")
"""What the column `role` of an index says of an image; blank: it is trained on, and never evaluated."""
BOTH = "both"


@dataclass(frozen=True)
class Protocol:
    """How queries and gallery of a data set are told apart, in words.

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
    """That of an index: by months where it has no column `role`."""
    if "role" not in index:
        return BY_MONTHS
    return SAME_SET if (index["role"] == BOTH).any() else BY_ROLE


def roles_of(index: pd.DataFrame) -> np.ndarray:
    """One of `ROLES` for each image, text `(n,)`: of the column `role`; without it gallery = month 0, query = later."""
    if "role" in index:
        return index["role"].fillna("").to_numpy().astype(str)
    months = index["months"].to_numpy().astype(np.float64)
    return np.select([months == 0, months > 0], ["gallery", "query"], "")


def mixed_roles(roles: np.ndarray) -> dict[str, int]:
    """Role → images, where `both` stands beside gallery or query, which no search can honour; else nothing."""
    names, counts = np.unique(roles[roles != ""], return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True)) if BOTH in names and len(names) > 1 else {}


def is_gallery(roles: np.ndarray) -> np.ndarray:
    """Images that are searched, bool `(n,)`."""
    return np.isin(roles, ("gallery", BOTH))


def is_query(roles: np.ndarray) -> np.ndarray:
    """Images that are searched for, bool `(n,)`."""
    return np.isin(roles, ("query", BOTH))


def is_matched(identities: np.ndarray, roles: np.ndarray) -> np.ndarray:
    """Queries of whose identity there is another image in the gallery, bool `(n,)`: only these can be scored."""
    names, places = np.unique(identities, return_inverse=True)
    searched = is_gallery(roles)
    images = np.bincount(places[searched], minlength=len(names))
    return is_query(roles) & (images[places] - searched > 0)
