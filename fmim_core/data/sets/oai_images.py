"""Files of a folder that are the OAI's tables, knee crops and films, and the places of the knees on films."""

from __future__ import annotations

import io
import math
import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fmim_core.data.files import files_below
from fmim_core.data.sets.base import Window
from fmim_core.data.sets.oai_tables import VISITS, Knee, number
from fmim_core.data.tables.cells import SIDES
from fmim_core.data.tables.findings import Findings
from fmim_core.data.tables.formats import check_bytes, read_content
from fmim_core.data.tables.reading import read_table

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

CENTRE_POINT = 4  # of KNEEL's 16 points the middle one of the 9 along the tibia, which its own crops are centred on

Landmark = tuple[str, str, Window]
"""Name of an image, side, part of the film."""


@dataclass(frozen=True)
class KneeImage:
    """One knee at one visit: a file or, with `window`, a part of one; without a `path`, only known from the tables.

    Paths are relative to the root; a film of both knees has the side "" until it is cut.
    """

    name: str
    knee: Knee
    path: str | None = None
    window: Window | None = None


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
    images: Sequence[KneeImage]
    unread: Sequence[str]

    @property
    def films(self) -> bool:
        """Tell whether the images are films of both knees."""
        return any(not image.knee[2] for image in self.images)


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
            knee = str(int(found["id"])), int(found["months"]), found["side"].upper()
            crops.append(KneeImage(path, knee, path))
        elif suffix in ("", *IMAGE_SUFFIXES) and (found := FILM.fullmatch(path)):
            films.append(KneeImage(path, (str(int(found["id"])), int(found["months"]), ""), path))
        elif suffix in IMAGE_SUFFIXES or (not suffix and VISIT_FOLDER.search(path)):
            unread.append(path)
    _refuse_doubles(root, tables, landmarks, crops, films)
    one = {what: paths[0] for what, paths in tables.items()}
    return Files(one, landmarks[0] if landmarks else None, crops or films, unread)


def _refuse_doubles(
    root: Path,
    tables: Mapping[str, list[str]],
    landmarks: list[str],
    crops: list[KneeImage],
    films: list[KneeImage],
) -> None:
    problems = [f"{len(paths)} tables of {what}: {', '.join(paths)}" for what, paths in tables.items() if paths[1:]]
    if "readings" in tables and (other := [what for what in tables if what.startswith("readings ")]):
        problems.append(f"readings of two editions: {tables['readings'][0]}, {tables[other[0]][0]}")
    if films and landmarks[1:]:
        problems.append(f"{len(landmarks)} files of landmarks: {', '.join(landmarks)}")
    if crops and films:
        problems.append(
            f"{len(crops)} knee crops ({crops[0].name}, …) and {len(films)} films of both knees ({films[0].name}, …)"
        )
    if problems:
        raise ValueError("\n  ".join([f"{root} has files that exclude each other: keep one of each", *problems]))
    if "enrollees" not in tables:
        raise ValueError(
            f"{root} and its folders have no table called enrollees, which has each participant's site: add one of "
            f"{', '.join('enrollees' + suffix for suffix in TABLE_SUFFIXES)}"
        )


def knees_in_files(root: Path, files: Files, findings: Findings) -> tuple[list[KneeImage], dict[str, str]]:
    """Return the knee of each crop, or both knees of each film; and name → SHA-256 of the landmarks that were used.

    Raises:
        ValueError: no images, or films without landmarks that can be read.
    """
    findings.warning("image files left out, because their path does not give ID, visit and side", files.unread)
    if not files.images:
        raise ValueError(
            f"{root} and its folders have no knee images. Add crops called <ID>_<months>_…_<L or R>.png, or films in "
            "<months>m/<group>/<ID>/<date>/<exam>/ with their landmarks; --metadata-only needs no images"
        )
    if not files.films:
        return list(files.images), {}
    if files.landmarks is None:
        raise ValueError(
            f"{root} has films of both knees ({files.images[0].name}, …) but no landmarks: add KNEEL's output "
            "(preds_unpadded.npz), or landmarks.csv with the columns image, side, x, y and, if films do not state "
            "their pixel spacing, width"
        )
    windows, sha256 = knees_on_films(root, files.images, files.landmarks, findings)
    paths = [film.name for film in files.images]
    knees = [
        KneeImage(f"{film.name}#{side}", (*film.knee[:2], side), film.path, windows[film.name, side])
        for film in files.images
        for side in "RL"
        if (film.name, side) in windows
    ]
    without = [f"{path} {side}" for path in paths for side in "RL" if (path, side) not in windows]
    findings.warning("knees on films without landmarks, left out", without)
    both = [path for path in paths if (path, "R") in windows and (path, "L") in windows]
    findings.error(
        "films whose right knee is right of the left one: a film's left half shows the patient's right knee",
        [path for path in both if windows[path, "R"].x >= windows[path, "L"].x],
    )
    scaled = ("", ".dcm")  # a DICOM file may have any name, and may state its pixel spacing
    findings.error(
        "films that are not DICOM: their landmarks must give the width of a knee in pixels",
        [
            f"{path}#{side}"
            for (path, side), window in windows.items()
            if window.width is None and Path(path).suffix.lower() not in scaled
        ],
    )
    return knees, {files.landmarks: sha256}


def knees_on_films(
    root: Path, films: Sequence[KneeImage], path: str, findings: Findings
) -> tuple[dict[tuple[str, str], Window], str]:
    """Return the films' paths and sides that `path` has landmarks of → their windows; and that file's SHA-256.

    `path` is the `preds_unpadded….npz` that KNEEL's `inference_new_data.py` writes: `preds` `(n, 2, 16, 2)`, x and y
    in the film's pixels, right knee first, and `imgs`, n names up to their first dot. Or a table with the columns
    image, side (R, L), x and y of the middle of the joint in the film's pixels and, for films that do not state their
    pixel spacing, width, in its pixels too. An image is named by its path, its file name (both with the suffix or
    without) or as <ID>_<months>, whichever is one film's alone.

    Raises:
        ValueError: the file cannot be read, or is neither.
    """
    named = _films_by_name(films)
    found, sha256 = _kneel(root / path) if path.lower().endswith(".npz") else _table(root / path, findings)
    windows: dict[tuple[str, str], Window] = {}
    wrong: dict[str, dict[str, None]] = defaultdict(dict)  # dicts, as sets in the order of their first place
    for image, side, window in found:
        matches = named.get(image.replace("\\", "/").removeprefix("./"), set())
        if len(matches) != 1:
            wrong["ambiguous" if matches else "nowhere"][image] = None
        elif windows.setdefault((film := next(iter(matches)), side), window) != window:
            wrong["twice"][f"{film} {side}"] = None
    findings.warning("landmarks of images that do not exist", wrong["nowhere"])
    findings.error("landmarks whose image fits several films: name it by its path", wrong["ambiguous"])
    findings.error("knees with more than one landmark", wrong["twice"])
    return windows, sha256


def _films_by_name(films: Sequence[KneeImage]) -> dict[str, set[str]]:
    """Return all that a film may be called → the paths of the films it may be."""
    named: dict[str, set[str]] = defaultdict(set)
    for film in films:
        subject, months, _ = film.knee
        paths = (film.name, "/".join(film.name.split("/")[-6:]), film.name.rsplit("/", 1)[-1])
        stems = (*(os.path.splitext(path)[0] for path in paths), paths[-1].split(".")[0])
        for name in (*paths, *stems, f"{subject}_{months}", f"{subject}_{months:02d}"):
            named[name].add(film.name)
    return named


def _table(path: Path, findings: Findings) -> tuple[list[Landmark], str]:
    table = read_table(path, ("image", "side", "x", "y"), ("width",))
    found, wrong = [], []
    columns = [table.column(name) for name in ("image", "side", "x", "y", "width")]
    for place, image, *texts in zip(table.places, *columns, strict=True):
        side, x, y = SIDES.get(texts[0].lower()), number(texts[1]), number(texts[2])
        width = number(texts[3]) if texts[3] else None
        if not image or not side or x is None or y is None or (texts[3] and (width is None or width <= 0)):
            wrong.append(f"{place} {', '.join([image, *texts])}")
        else:
            found.append((image, side, Window(x, y, width)))
    findings.warning("landmarks left out, because they lack an image, a side R or L, or a number x, y or width", wrong)
    return found, table.sha256


def _kneel(path: Path) -> tuple[list[Landmark], str]:
    content, sha256 = read_content(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            check_bytes(path, sum(member.file_size for member in packed.infolist()))
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            points, names = np.asarray(arrays["preds"], dtype=float), arrays["imgs"].astype(str).tolist()
    except Exception as error:  # a decoder fed damaged bytes raises nearly anything
        raise ValueError(f"{path} is not KNEEL's output (with arrays called preds and imgs): {error}") from None
    if points.shape != (len(names), 2, 16, 2):
        raise ValueError(f"{path} has preds of shape {points.shape}, but KNEEL's output has ({len(names)}, 2, 16, 2)")
    found = [
        (name, side, Window(float(x), float(y), None))
        for name, knees in zip(names, points[:, :, CENTRE_POINT], strict=True)
        for side, (x, y) in zip("RL", knees, strict=True)
        if math.isfinite(x) and math.isfinite(y)  # KNEEL's NaN: it found no knee
    ]
    return found, sha256
