"""Files of a folder that are the OAI's tables, knee crops, films and landmarks."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmim_core.data.files import files_below

VISITS = {"00": 0, "01": 12, "03": 24, "05": 36, "06": 48, "08": 72, "10": 96}
"""The OAI's number of a visit with radiographs → months after baseline."""

# What a table is called, in lower case and without its suffix → what it is. The second edition is that of the NIMH
# Data Archive, whose one table of readings has the visit in a column.
TABLES = (
    {"enrollees": "enrollees", "oai_enrollee01": "enrollees", "outcomes99": "outcomes", "oai_outcome01": "outcomes"}
    | {f"allclinical{visit}": f"clinical {visit}" for visit in VISITS}
    | {f"kxr_sq_bu{visit}": f"readings {visit}" for visit in VISITS}
    | {"oai_kxrsemiquant01": "readings"}
)
TABLE_SUFFIXES = (".sas7bdat", ".xpt", ".txt", ".csv", ".tsv", ".parquet")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".dcm")

CROP = re.compile(r"(?P<id>\d+)_(?P<months>\d+)(_.*)?_(?P<side>[LR])\.\w+", re.IGNORECASE | re.ASCII)
FILM = re.compile(r"(.*/)?(?P<months>\d+)m/[^/]+/(?P<id>\d+)/[^/]+/[^/]+/[^/]+", re.IGNORECASE | re.ASCII)
VISIT_FOLDER = re.compile(r"(^|/)\d+m/", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class ImageFile:
    """A crop of one knee, `side` "L" or "R", or a film of both, `side` ""; `path` is relative to the root."""

    path: str
    subject: str
    months: int
    side: str


@dataclass(frozen=True)
class Files:
    """Files found in a folder; paths are relative to it.

    Args:
        tables: what a table is (a value of `TABLES`) → its path.
        landmarks: the table of knee positions on films, where there is one.
        images: either crops or films.
        unread: image files whose path tells no ID, visit and side.
    """

    tables: Mapping[str, str]
    landmarks: str | None
    images: Sequence[ImageFile]
    unread: Sequence[str]

    @property
    def films(self) -> bool:
        """Tell whether the images are films of both knees."""
        return any(not image.side for image in self.images)


def find_files(root: Path) -> Files:
    """Find every file in `root` and below that is of use, in the order of their paths; links are followed.

    Raises:
        ValueError: a table or the landmarks are there more than once, no table of enrollees, or both crops and films.
    """
    tables, landmarks, crops, films, unread = defaultdict(list), [], [], [], []
    for path in sorted(files_below(root)):
        name = path.rsplit("/", 1)[-1].lower()
        stem, suffix = os.path.splitext(name.removesuffix(".gz"))
        if suffix in TABLE_SUFFIXES or suffix == ".npz":
            if stem in TABLES:
                tables[TABLES[stem]].append(path)
            elif suffix == ".npz" or "landmark" in stem:
                landmarks.append(path)
        elif suffix in IMAGE_SUFFIXES and (found := CROP.fullmatch(name)):
            crops.append(ImageFile(path, str(int(found["id"])), int(found["months"]), found["side"].upper()))
        elif suffix in ("", *IMAGE_SUFFIXES) and (found := FILM.fullmatch(path)):
            films.append(ImageFile(path, str(int(found["id"])), int(found["months"]), ""))
        elif suffix in IMAGE_SUFFIXES or (not suffix and VISIT_FOLDER.search(path)):
            unread.append(path)
    _refuse_doubles(root, tables, landmarks, crops, films)
    one = {what: paths[0] for what, paths in tables.items()}
    return Files(one, landmarks[0] if landmarks else None, crops or films, unread)


def _refuse_doubles(
    root: Path,
    tables: Mapping[str, list[str]],
    landmarks: list[str],
    crops: list[ImageFile],
    films: list[ImageFile],
) -> None:
    problems = [
        f"the table of {what} {len(paths)} times: {', '.join(paths)}" for what, paths in tables.items() if paths[1:]
    ]
    if "readings" in tables and (other := [what for what in tables if what.startswith("readings ")]):
        problems.append(f"readings of two editions: {tables['readings'][0]}, {tables[other[0]][0]}")
    if films and landmarks[1:]:
        problems.append(f"landmarks {len(landmarks)} times: {', '.join(landmarks)}")
    if crops and films:
        problems.append(
            f"{len(crops)} knee crops ({crops[0].path}, …) and {len(films)} films of both knees ({films[0].path}, …)"
        )
    if problems:
        raise ValueError("\n  ".join([f"{root} has what is to be there once: keep one of each", *problems]))
    if "enrollees" not in tables:
        raise ValueError(
            f"{root} has no table called enrollees, which tells each participant's site, in it or below: one of "
            f"{', '.join('enrollees' + suffix for suffix in TABLE_SUFFIXES)}"
        )
