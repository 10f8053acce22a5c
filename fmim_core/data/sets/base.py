"""Base of named data sets, and the listing that each gives: every image, usable or not, and where its file is."""

from __future__ import annotations

import inspect
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from fmim_core.data.image_set import is_query, matched_subjects, mixed_roles, protocol_of, roles_of
from fmim_core.data.images.limits import MIN_SIDE, ImageProblem, Refused
from fmim_core.data.images.reading import READING, has_colour, read_image, square
from fmim_core.data.source import EVERY_COLUMN, Source, SourceDescription
from fmim_core.data.tables.findings import Findings
from fmim_core.fingerprint import fingerprint
from fmim_core.registry import KindConfig, Registry

LOOKED_AT = 100  # files at most, to find out if a set is in colour: all of a large one would take minutes
DRAWN_SIDE = 128  # pixels of an image that is drawn, where no size is asked for


@dataclass(frozen=True)
class Window:
    """A square around the point (`x`, `y`) of an image, in its pixels; beyond the image it is black.

    Its side is `width` pixels or, where that is None, `millimetres` at the pixel spacing that the file states, which
    is read with the image: a collection of 27,000 films would take minutes to be listed otherwise. As KNEEL cuts, the
    side is rounded down to an even number, and the point to whole pixels.
    """

    x: float
    y: float
    width: float | None = None
    millimetres: float = 140

    def cut(self, path: str | Path, image: np.ndarray) -> np.ndarray:
        """Return the window of the image uint8 `(H, W)` or `(H, W, 3)` of the file `path`, with H = W = its side.

        Raises:
            ImageProblem: the point is outside the image, or the file does not state its pixel spacing.
        """
        height, width = image.shape[:2]
        if not (0 <= self.x < width and 0 <= self.y < height):
            raise ImageProblem(path, f"the point ({self.x:g}, {self.y:g}) lies outside the image of {width} x {height}")
        half = int(self._side(path)) // 2
        if not 2 * half >= MIN_SIDE:
            raise ImageProblem(path, f"a window of {2 * half} pixels is too small: give at least {MIN_SIDE}")
        top, left = round(self.y) - half, round(self.x) - half
        result = np.zeros((2 * half, 2 * half, *image.shape[2:]), np.uint8)
        part = image[max(0, top) : max(0, top + 2 * half), max(0, left) : max(0, left + 2 * half)]
        result[max(0, -top) :, max(0, -left) :][: part.shape[0], : part.shape[1]] = part
        return result

    def _side(self, path: str | Path) -> float:
        if self.width is not None:
            return self.width
        try:
            from fmim_core.data.images.dicom import pixel_spacing

            return self.millimetres / pixel_spacing(path)
        except ModuleNotFoundError:
            what = "reading its pixel spacing needs pydicom: install it, or give the window's width in pixels"
            raise ImageProblem(path, what) from None
        except Refused as refused:
            raise ImageProblem(path, refused) from refused


@dataclass(frozen=True, eq=False)
class Listing:
    """A data set as its tables give it: every row, every file, and everything noticed on the way.

    Args:
        origin: the table or folder it was read from, for messages.
        root: the folder that `paths` are relative to.
        index: `INDEX_COLUMNS` and some others of `EVERY_COLUMN`, one row per image; a cell that cannot be used is None,
            and an error says so.
        paths: each row's file, None where there is none (an error says so, unless `metadata_only`).
        windows: of rows whose image is only a part of its file.
        mirror_right: whether images of the right side are mirrored, so that both sides look alike.
        metadata_only: whether files were not looked for: such a listing describes, and cannot be read.
        written_by_user: whether the user wrote the table, in which images of its folder may then be missing.
        drawn: what draws the images where they are no files.
    """

    description: SourceDescription
    origin: Path
    root: Path
    index: pd.DataFrame
    paths: Sequence[str | None]
    findings: Findings
    windows: Mapping[int, Window] = field(default_factory=dict)
    mirror_right: bool = True
    metadata_only: bool = False
    written_by_user: bool = False
    drawn: Source | None = None

    @classmethod
    def of(cls, drawn: Source, mirror_right: bool) -> Listing:
        """List the images of a source that draws them."""
        paths = [None] * len(drawn.index)
        origin = Path(drawn.description.name)
        return cls(drawn.description, origin, Path(), drawn.index, paths, Findings(), {}, mirror_right, drawn=drawn)

    def with_channels(self, given: Literal[1, 3] | None = None) -> Listing:
        """Return the same images in so many channels; by default as the files are, in colour if any of them is.

        Up to `LOOKED_AT` files, spread evenly over all, are looked at until one is in colour, which is told.
        """
        rows = [] if self.metadata_only or given == 3 else self.rows()
        looked_at = (str(self.paths[row]) for row in rows[:: len(rows) // LOOKED_AT + 1])
        coloured = list(islice((path for path in looked_at if has_colour(self.root / path)), 1))
        if given:
            self.findings.warning("all images are read in grey (channels = 1), but some are in colour", coloured)
        else:
            self.findings.note("all images are read in colour, because some are in colour", coloured)
        channels = given or (3 if coloured else 1)
        return replace(self, description=replace(self.description, channels=channels))

    def source(self) -> Source:
        """Return what a bank is built from.

        Raises:
            ValueError: one error with everything that keeps the listing from being used.
        """
        return self.drawn or FileSource(self)

    def rows(self) -> Sequence[int]:
        """Return the row numbers of the images that are there; the others have been told as missing."""
        if self.drawn:
            return range(len(self.index))
        return [row for row, path in enumerate(self.paths) if path and os.path.isfile(self.root / path)]

    def read(self, row_number: int, size: int | None = None) -> np.ndarray:
        """Read the image of a row, uint8 `(H, W)` or `(H, W, 3)`, cut and mirrored; by a size also made square.

        Raises:
            ImageProblem: it cannot be read.
        """
        if self.drawn:
            return self.drawn.read(row_number, size or DRAWN_SIDE)
        path, channels = self.path(row_number), self.description.channels
        if window := self.windows.get(row_number):
            image = window.cut(path, read_image(path, channels=channels))
            image = image[:, ::-1] if self.mirrors(row_number) else image
            return image if size is None else square(image, size, channels)
        return read_image(path, size, self.mirrors(row_number), channels)

    def loses_colour(self, row_number: int) -> bool:
        """Tell whether the image of a row is in colour, and read as grey."""
        return not self.drawn and self.description.channels == 1 and has_colour(self.path(row_number))

    def path(self, row_number: int) -> Path:
        """Return the file of a row."""
        path = self.paths[row_number]
        assert path is not None, "a listing with errors or without files is never read"
        return self.root / path

    def mirrors(self, row_number: int) -> bool:
        """Tell whether the image of a row is mirrored."""
        return self.mirror_right and bool(self.index["side"].iat[row_number] == "R")


class FileSource(Source):
    """The images of a listing's files.

    An image's key is the version of reading, its file with size and time of change, its window, and whether it is
    mirrored or in colour; the fingerprint is a digest of the index, the keys and what is `chosen`, and not of settings:
    these change no decoded pixel. Size and time of change stand for a file's content, which takes minutes to read in a
    large collection. A copied folder is thus decoded again, to a bank of the same fingerprint, which covers content
    alone.

    Raises:
        ValueError: one error with everything that keeps the listing from being used.
    """

    def __init__(self, listing: Listing) -> None:
        assert not listing.metadata_only, "only a listing with files can be read"
        listing.findings.refuse_errors(listing.origin)
        self._listing = listing
        noticed = [{"severity": f.severity, "what": f.what, "count": len(f.places)} for f in listing.findings]
        self.description = replace(listing.description, details=listing.description.details | {"findings": noticed})
        self.index = listing.index[[name for name in EVERY_COLUMN if name in listing.index]].copy()
        self.image_keys = [self._key(row) for row in range(len(self.index))]
        self.fingerprint = fingerprint([self.index.to_csv(), self.image_keys, *self.description.chosen.values()])

    def _key(self, row: int) -> str:
        path, window = self._listing.path(row), self._listing.windows.get(row)
        state = os.stat(path)
        key = f"{READING} {path} {(state.st_size, state.st_mtime_ns)} {window} {self._listing.mirrors(row)}"
        return key if self.description.channels == 1 else f"{key} in colour"

    def read(self, row_number: int, size: int) -> np.ndarray:
        """Read an image by `Listing.read`; raises `ImageProblem`."""
        return self._listing.read(row_number, size)


def check_index(index: pd.DataFrame, findings: Findings, for_study: bool = True) -> None:
    """Add what is wrong with an index, whatever it was read from; cells that are None have been told before.

    Args:
        for_study: whether a study is to train and score on it, which needs people seen more than once on both sides of
            the split.
    """
    images = index["image"].dropna()
    findings.error("images named more than once", images[images.duplicated()].unique())
    if not for_study:
        return
    train, test = (set(index["subject"][index["split"] == split].dropna().unique()) for split in ("train", "test"))
    findings.error("subjects in both train and test", sorted(train & test))
    roles, protocol = roles_of(index), protocol_of(index)
    what = "role both beside gallery or query: use only both, or only gallery and query, on each side of the split"
    findings.error(what, mixed_roles(index))
    asked = set(index["subject"][is_query(roles)].dropna())
    findings.warning(f"{protocol.unmatched}: their queries have no match", sorted(asked - matched_subjects(index)))
    if findings.errors:
        return  # what follows would only repeat them
    for split in ("train", "test"):
        part = index[index["split"] == split]
        if not matched_subjects(part):
            what = f"no subject in {split} has {protocol.pair}, so retrieval cannot be scored"
            findings.error(what, [f"{len(part)} images"])


class DataSet(KindConfig):
    """A data set in files, known by its kind (`--data KIND --data-root DIR`). Its docstring begins with what it is."""

    @abstractmethod
    def listing(self, root: Path, metadata_only: bool) -> Listing:
        """List every image of the folder `root`, usable or not, with all that was found wrong.

        Args:
            metadata_only: read the tables and look for no image; such a listing describes, and cannot be read.

        Raises:
            ValueError: the tables are missing or cannot be read.
        """

    def listed(
        self, root: Path, index: pd.DataFrame, paths: Sequence[str | None] | None, findings: Findings, **about: Any
    ) -> Listing:
        """Return a folder's listing; no `paths` where none was looked for. `about` is as in `SourceDescription`."""
        description = SourceDescription(name=self.kind, kind=self.kind, synthetic=False, **about)
        there = [None] * len(index) if paths is None else paths
        return Listing(description, root, root, index, there, findings, metadata_only=paths is None)

    @classmethod
    def about(cls) -> str:
        """Return the first line of its docstring."""
        return (inspect.getdoc(cls) or "").partition("\n")[0]


DATA_SETS: Registry[DataSet] = Registry("data set", "fmim_core.data.sets")
"""All data sets in files, by kind."""


def manifest_of(listing: Listing, folder: Path) -> tuple[str, int]:
    """Return a manifest in `folder` of those images of a listing that are there, as CSV text, and how many they are.

    Rows with a cell that cannot be used are left out; months stay those of the full tables.

    Raises:
        ValueError: no image is there, one is not inside `folder`, or they are not used as their files hold them.
    """
    name = listing.description.name
    if listing.windows:
        raise ValueError(
            f"the images of {name} are parts of larger films, and a manifest names whole files: use {name}, or crop "
            "the films and give it the folder of crops"
        )
    index = listing.index[[column for column in EVERY_COLUMN if column in listing.index]]
    if not listing.mirror_right and (index["side"] == "R").any():
        raise ValueError(f"{name} does not mirror its right images, but a manifest does: use {name} itself")
    rows = list(listing.rows())
    index = index.iloc[rows].assign(image=[os.path.realpath(listing.path(row)) for row in rows])
    index = index.dropna(subset=[column for column in index if column != "months"])
    if index.empty:
        raise ValueError(f"no image of {name} is in {listing.root}, so there is nothing to list: download some first")
    index["image"] = [os.path.relpath(path, folder.resolve()).replace(os.sep, "/") for path in index["image"]]
    if outside := [path for path in index["image"] if path.startswith("../")]:
        raise ValueError(
            f"{len(outside)} images (e.g. {outside[0]}) are outside {folder}, or are links out of it; a manifest "
            "names images below its own folder: write it to the images' folder or to one above"
        )
    return index.to_csv(index=False, lineterminator="\n"), len(index)
