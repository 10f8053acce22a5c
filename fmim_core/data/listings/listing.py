"""What a data set's tables say, usable or not, and the source that reads its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from fmim_core.data.images.limits import MIN_SIDE, ImageProblem
from fmim_core.data.images.reading import READING, read_grey, square
from fmim_core.data.images.spacing import pixel_spacing
from fmim_core.data.roles import is_matched, is_query, mixed_roles, protocol_of, roles_of
from fmim_core.data.source import EVERY_COLUMN, Source, SourceDescription
from fmim_core.data.tables.findings import Findings
from fmim_core.fingerprint import fingerprint

FileState = tuple[int, int]
"""Size in bytes and time of change in ns of a file."""


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
        """The window of the grey image uint8 `(H, W)` of the file `path`, as `(side, side)`.

        Raises:
            ImageProblem: the point is outside the image, or the file does not state its pixel spacing.
        """
        height, width = image.shape
        if not (0 <= self.x < width and 0 <= self.y < height):
            raise ImageProblem(path, f"the point ({self.x:g}, {self.y:g}) lies outside the image of {width} x {height}")
        half = int(self.millimetres / pixel_spacing(path) if self.width is None else self.width) // 2
        if not 2 * half >= MIN_SIDE:
            raise ImageProblem(path, f"a window of {2 * half} pixels is too small: at least {MIN_SIDE}")
        top, left = round(self.y) - half, round(self.x) - half
        result = np.zeros((2 * half, 2 * half), np.uint8)
        part = image[max(0, top) : max(0, top + 2 * half), max(0, left) : max(0, left + 2 * half)]
        result[max(0, -top) :, max(0, -left) :][: part.shape[0], : part.shape[1]] = part
        return result


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

    def read_whole(self, row_number: int) -> np.ndarray:
        """Grey image uint8 `(H, W)` of a row by `images.read_grey`, cut and mirrored; raises `images.ImageProblem`."""
        path = self.paths[row_number]
        assert path is not None, "a listing with errors or without files is never read"
        image = read_grey(self.root / path)
        if window := self.windows.get(row_number):
            image = window.cut(self.root / path, image)
        mirrored = self.mirror_right and self.index["side"].iloc[row_number] == "R"
        return image[:, ::-1] if mirrored else image


class FileSource(Source):
    """The images of a listing's files.

    An image's key is the version of reading, its file with size and time of change, its window, and whether it is
    mirrored; the fingerprint is a digest of the index, the keys and an interval but a year, and not of settings: these
    change no decoded pixel. Size and time of change stand for a file's content, which takes minutes to read in a large
    collection. A copied folder is thus decoded again, to a bank of the same fingerprint, which covers content alone.

    Raises:
        ValueError: one error with everything that keeps the listing from being used.
    """

    def __init__(self, listing: Listing) -> None:
        assert not listing.metadata_only, "only a listing with files can be read"
        listing.findings.refuse_errors(listing.origin)
        self._listing = listing
        noticed = [{"severity": f.severity, "what": f.what, "count": len(f.places)} for f in listing.findings]
        self.description = replace(listing.description, details=listing.description.details | {"findings": noticed})
        columns = [name for name in EVERY_COLUMN if name in listing.index]
        self.index = listing.index[columns].copy()
        self._mirrored = [listing.mirror_right and side == "R" for side in listing.index["side"]]
        whole = [listing.root / str(path) for path in listing.paths]
        self.image_keys = [
            f"{READING} {path} {file_state(path)} {listing.windows.get(row)} {mirrored}"
            for row, (path, mirrored) in enumerate(zip(whole, self._mirrored, strict=True))
        ]
        self.fingerprint = fingerprint([self.index.to_csv(), self.image_keys, *self.description.grouping.values()])

    def read(self, row_number: int, size: int) -> np.ndarray:
        """Grey uint8 `(size, size)` by `Listing.read_whole` and `images.square`; raises `images.ImageProblem`."""
        listing = self._listing
        if row_number in listing.windows:
            return square(listing.read_whole(row_number), size)
        return read_grey(listing.root / str(listing.paths[row_number]), size, self._mirrored[row_number])


def file_state(path: str | Path) -> FileState | None:
    """Size and time of change of a regular file, None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # a name the file system refuses is a missing file too
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def matched_subjects(index: pd.DataFrame) -> set[str]:
    """Subjects with a query that has a match."""
    known = index.dropna(subset=["subject"])
    subjects = known["subject"].to_numpy().astype(str)
    return set(subjects[is_matched(subjects, roles_of(known))].tolist())


def check_index(index: pd.DataFrame, findings: Findings, for_study: bool = True) -> None:
    """Add what is wrong with an index, whatever it was read from; cells that are None have been told before.

    Args:
        for_study: whether a study is to train and score on it, which needs people seen more than once on both sides of
            the split.
    """
    images = index["image"].dropna()
    findings.error("images named more than once", images[images.duplicated()].unique())
    if for_study:
        _check_split(index, findings)


def _check_split(index: pd.DataFrame, findings: Findings) -> None:
    train, test = (set(index["subject"][index["split"] == split].dropna().unique()) for split in ("train", "test"))
    findings.error("subjects in both train and test", sorted(train & test))
    roles, protocol = roles_of(index), protocol_of(index)
    mixed = [f"{count} {role}" for role, count in mixed_roles(roles).items()]
    findings.error("roles both beside gallery or query: all queries of a table are both, or none is", mixed)
    asked = set(index["subject"][is_query(roles)].dropna())
    findings.warning(f"{protocol.unmatched}: their queries have no match", sorted(asked - matched_subjects(index)))
    if findings.errors:
        return  # what follows would only repeat them
    for split in ("train", "test"):
        part = index[index["split"] == split]
        if not matched_subjects(part):
            what = f"no subject in {split} has {protocol.pair}, so retrieval cannot be scored"
            findings.error(what, [f"{len(part)} images"])
