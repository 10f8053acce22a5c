"""A data set that was read from its own tables, as a manifest: to use and edit the part of it that is there."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from fmim_core.data.listings.listing import Listing
from fmim_core.data.source import EVERY_COLUMN


def manifest_of(listing: Listing, folder: Path) -> tuple[str, int]:
    """Return a manifest in `folder` of those images of a listing that are there, as CSV text, and how many they are.

    Rows with a cell that cannot be used are left out; months stay those of the full tables.

    Raises:
        ValueError: no image is there, one is not inside `folder`, or they are not used as their files hold them.
    """
    name = listing.description.name
    if listing.windows:
        raise ValueError(
            f"the images of {name} are parts of larger films, which a manifest cannot say: use {name} itself, or crop "
            "the films and give it the folder of crops"
        )
    index = listing.index[[column for column in EVERY_COLUMN if column in listing.index]]
    if not listing.mirror_right and (index["side"] == "R").any():
        raise ValueError(f"the right images of {name} are used as they are, those of a manifest mirrored: use {name}")
    index = index.assign(image=pd.Series([_there(listing.root, path) for path in listing.paths], dtype=object))
    index = index.dropna(subset=[column for column in index if column != "months"])
    if index.empty:
        raise ValueError(f"no image of {name} is in {listing.root}, so there is nothing to list: download some first")
    index["image"] = [os.path.relpath(path, folder.resolve()).replace(os.sep, "/") for path in index["image"]]
    if outside := [path for path in index["image"] if path.startswith("../")]:
        raise ValueError(
            f"{len(outside)} images (e.g. {outside[0]}) are not inside {folder}, where a manifest's must be, through "
            "links neither: write it in their folder or above"
        )
    return index.to_csv(index=False, lineterminator="\n"), len(index)


def _there(root: Path, path: str | None) -> str | None:
    """Return the whole path of a file, links followed, None where there is none."""
    whole = os.path.realpath(root / path) if isinstance(path, str) else None
    return whole if whole and os.path.isfile(whole) else None
