"""A data set as its tables list it, usable or not, and the source that reads its files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from fmim_core.data.images.reading import READING, read_grey, square
from fmim_core.data.listings.window import Window
from fmim_core.data.roles import is_query, matched_subjects, mixed_roles, protocol_of, roles_of
from fmim_core.data.source import EVERY_COLUMN, Source, SourceDescription
from fmim_core.data.tables.findings import Findings
from fmim_core.fingerprint import fingerprint

DRAWN_SIDE = 128  # pixels of an image that is drawn, where no size is asked for


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
        """Read the image of a row as grey uint8 `(H, W)` or `(size, size)`, cut, mirrored and made square.

        Raises:
            ImageProblem: it cannot be read.
        """
        if self.drawn:
            return self.drawn.read(row_number, size or DRAWN_SIDE)
        path = self.path(row_number)
        if window := self.windows.get(row_number):
            image = window.cut(path, read_grey(path))
            image = image[:, ::-1] if self.mirrors(row_number) else image
            return image if size is None else square(image, size)
        return read_grey(path, size, self.mirrors(row_number))

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
        self.index = listing.index[[name for name in EVERY_COLUMN if name in listing.index]].copy()
        self.image_keys = [self._key(row) for row in range(len(self.index))]
        self.fingerprint = fingerprint([self.index.to_csv(), self.image_keys, *self.description.grouping.values()])

    def _key(self, row: int) -> str:
        path, window = self._listing.path(row), self._listing.windows.get(row)
        state = os.stat(path)
        return f"{READING} {path} {(state.st_size, state.st_mtime_ns)} {window} {self._listing.mirrors(row)}"

    def read(self, row_number: int, size: int) -> np.ndarray:
        """Read an image as grey uint8 `(size, size)` by `Listing.read`; raises `images.ImageProblem`."""
        return self._listing.read(row_number, size)


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
