"""The images for a trained model: those of a table, a folder, single files, or an array."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from fmim.data.sources import PHANTOM, find_listing
from fmim_core.data.image_set import is_gallery, is_query, roles_of
from fmim_core.data.images.check import SUFFIXES, image_files
from fmim_core.data.images.limits import ImageProblem, Refused, check_shape
from fmim_core.data.images.reading import read_image, square
from fmim_core.data.sets.base import DATA_SETS, FileSource
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.data.source import Progress, Source
from fmim_core.data.tables.findings import MAX_SHOWN, Findings
from fmim_core.machine import cores
from fmim_core.records import StudyFile, forbidden
from fmim_core.suggestions import did_you_mean_path

Side = Literal["", "L", "R"]
Split = Literal["train", "test"]
Read = Callable[[int, int], np.ndarray]
BLOCK = 256
"""Images decoded at a time, as many as are evaluated at a time."""


@dataclass(frozen=True, eq=False)
class GivenImages:
    """Images to embed, and the facts known about them.

    origin: where they come from, for messages.
    about: one row per image, labelled by the row number that `read` takes: `image`, its name; for a data set also the
        columns of its index (`fmim_core.data.source`).
    read: row number, size → uint8 `(size, size)`, in colour `(size, size, 3)`, exactly as a bank of that size has it.
    places: by the same labels; equal for one and the same image.
    threads: number of threads that are useful for reading.

    Raises:
        ValueError: there is no image.
    """

    origin: str
    about: pd.DataFrame
    read: Read
    places: pd.Series[str]
    threads: int

    def __post_init__(self) -> None:
        if self.about.empty:
            raise ValueError(f"there are no images in {self.origin or 'an empty list'}")

    def __len__(self) -> int:
        return len(self.about)

    @property
    def known(self) -> bool:
        """Return whether their subjects are known."""
        return "subject" in self.about

    def identities(self, per_side: bool) -> np.ndarray:
        """Return the subject of each, or the subject and side, text `(n,)`."""
        subjects = self.about["subject"].astype(str)
        return np.array(subjects + "/" + self.about["side"] if per_side else subjects, dtype=str)

    @property
    def gallery(self) -> GivenImages:
        """Return a report's gallery: images of first visits (month 0), or those of that `role` in the table.

        Raises:
            ValueError: there is none, or there is no table that could say so.
        """
        return self._where("months", lambda about: is_gallery(roles_of(about)), "gallery image (month 0, or by role)")

    @property
    def queries(self) -> GivenImages:
        """Return a report's queries: images of later visits, or those of that `role`; raises as `gallery`."""
        return self._where("months", lambda about: is_query(roles_of(about)), "query (a later visit, or by role)")

    def of_split(self, split: Split) -> GivenImages:
        """Return the images of subjects on one side of the split; raises as `gallery`."""
        return self._where("split", lambda about: about["split"] == split, f"image of a subject in {split}")

    def _where(self, column: str, chosen: Callable[[pd.DataFrame], pd.Series | np.ndarray], what: str) -> GivenImages:
        if column not in self.about:
            raise ValueError(f"{self.origin}: images without a table have no {column}; give a table that has it")
        about = self.about[chosen(self.about)]
        if about.empty:
            raise ValueError(f"{self.origin}: there is no {what} among {len(self)} images")
        return replace(self, about=about, places=self.places[about.index])

    def blocks(self, size: int, progress: Progress | None = None) -> Iterator[np.ndarray]:
        """Yield up to `BLOCK` images at a time, all in order, as uint8.

        Raises:
            ValueError: after the last one, if some cannot be read; the message says how many, and names the first.
        """
        unusable = Findings()
        with ThreadPoolExecutor(self.threads) as pool:
            problems: list[str] = []
            for start in range(0, len(self), BLOCK):
                outcomes = list(pool.map(partial(self._outcome, size), self.about.index[start : start + BLOCK]))
                problems += [str(outcome) for outcome in outcomes if isinstance(outcome, ImageProblem)]
                if progress:
                    progress(start + len(outcomes), len(self))
                if not problems:
                    yield np.stack([outcome for outcome in outcomes if isinstance(outcome, np.ndarray)])
        unusable.error("images that cannot be read", problems)
        unusable.refuse_errors(self.origin)

    def _outcome(self, size: int, row: int) -> np.ndarray | ImageProblem:
        try:
            return self.read(row, size)
        except ImageProblem as problem:
            return problem


def images_at(place: str, study: StudyFile, root: Path | None = None, side: Side = "") -> GivenImages:
    """Return the images of a table, of a data set by name, of a folder and those below it, or of one image file.

    Args:
        study: gives the channels, the cohort of `phantom`, and the seed that draws the test subjects of a table
            without a column split.
        root: the folder of the table or data set.
        side: the side of images without a table; right ones (R) are mirrored, as those of a table are.

    Raises:
        ValueError: no such table, data set, folder or file, or a table that cannot be used.
    """
    path, named = Path(place), place == PHANTOM or place in DATA_SETS.kinds()
    if path.suffix.lower() in SUFFIXES and not named:
        return images_of_files([path], study.data.channels, side)
    if named or not path.is_dir():
        return _of_data_set(place, study, root)
    if not os.access(path, os.R_OK | os.X_OK):
        raise forbidden(path)
    if not (files := image_files(path)):
        raise ValueError(f"there are no images in the folder {place}; allowed: {', '.join(sorted(SUFFIXES))}")
    return replace(images_of_files(files, study.data.channels, side), origin=place)


def matched_images(
    query: Sequence[str],
    gallery: str,
    study: StudyFile,
    root: Path | None,
    side: Side,
    split: Split | None,
    all_images: bool,
) -> tuple[GivenImages, GivenImages]:
    """Return the images to find and those to look in: a table's later visits and baselines, of one side of the split.

    Several queries are image files. A gallery's table is looked in whole if `all_images`. Raises as `images_at`.
    """
    channels = study.data.channels
    asked = images_of_files(query, channels, side) if len(query) > 1 else images_at(query[0], study, root, side)
    asked, searched = asked.queries if asked.known else asked, images_at(gallery, study, root, side)
    if all_images and not searched.known:
        raise ValueError(
            f"--all-images needs a table as --gallery; of {gallery} all images are searched anyway: leave it out"
        )
    if split and not (asked.known or searched.known):
        raise ValueError(f"--split {split} needs a table, but neither QUERY nor --gallery is one: leave it out")
    searched = searched.gallery if searched.known and not all_images else searched
    if split:
        asked, searched = (each.of_split(split) if each.known else each for each in (asked, searched))
    return asked, searched


def images_of_files(paths: Sequence[str | Path], channels: int, side: Side = "") -> GivenImages:
    """Return image files with any ending; raises as `images_at`."""
    if side not in ("", "L", "R"):
        raise ValueError(f"side {side!r} is unknown: give L, R, or nothing if there are no sides")
    if missing := [str(path) for path in paths if not os.path.isfile(path)]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ValueError(
            f"there is no image file {missing[0]}{more}: give image files, a folder, or a table of images"
            f"{did_you_mean_path(Path(missing[0]))}"
        )
    names = pd.DataFrame({"image": [str(path) for path in paths]})
    places = pd.Series([os.path.realpath(path) for path in paths], names.index)
    return GivenImages(
        origin=", ".join(map(str, paths[:MAX_SHOWN])),
        about=names,
        read=lambda row, size: read_image(paths[row], size, side == "R", channels),
        places=places,
        threads=cores(),
    )


def images_of_array(images: np.ndarray, channels: int, side: Side = "") -> GivenImages:
    """Return images uint8 `(N, H, W)` or `(N, H, W, 3)` of any size, named by their positions.

    Raises:
        ValueError: another type or shape, or images that are too small or too narrow.
    """
    if images.dtype != np.uint8 or not (images.ndim == 3 or images.shape[3:] == (3,)):
        raise ValueError(
            f"images must be uint8 of shape (N, H, W) or (N, H, W, 3), got {images.dtype} of shape {images.shape}"
        )
    try:
        check_shape(images.shape[2], images.shape[1])
    except Refused as refused:
        raise ValueError(f"the array: {refused}") from None
    names = pd.DataFrame({"image": [str(position) for position in range(len(images))]})
    shown = images[:, :, ::-1] if side == "R" else images
    places = pd.Series([f"{id(images)} {position}" for position in names.index], names.index)
    return GivenImages(
        "the array", names, lambda row, size: square(shown[row], size, channels), places, threads=cores()
    )


def _of_data_set(place: str, study: StudyFile, root: Path | None) -> GivenImages:
    """Return the images of the study's phantoms, or of a data set in files, several of which may be windows of one."""
    source: Source
    if place == PHANTOM:
        if study.data.kind != PHANTOM:
            raise ValueError(f"{PHANTOM} is only for studies on phantoms, but this study is on {study.data.name}")
        config = PhantomConfig(**{name: study.data.details[name] for name in PhantomConfig.model_fields})
        source = PhantomSource(config)
        places = list(source.index["image"])
    else:
        listing = find_listing(place, root, study.seed, for_study=False)
        source = FileSource(replace(listing, description=replace(listing.description, channels=study.data.channels)))
        files = (os.path.realpath(listing.root / str(path)) for path in listing.paths)
        places = [f"{file} {listing.windows.get(row, '')}".rstrip() for row, file in enumerate(files)]
    about = source.index.reset_index(drop=True)
    threads = min(cores(), source.threads or cores())
    return GivenImages(place, about, source.read, pd.Series(places, about.index), threads)
