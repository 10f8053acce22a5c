"""Places of the knees on films of both: KNEEL's output, or a table of knee centres."""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fmim_core.data.listings.window import Window
from fmim_core.data.oai.files import ImageFile
from fmim_core.data.oai.rows import number
from fmim_core.data.tables.cells import SIDES
from fmim_core.data.tables.content import check_bytes, read_content
from fmim_core.data.tables.findings import Findings
from fmim_core.data.tables.reading import read_table

MILLIMETRES = 140  # of a knee's side, as KNEEL cuts
CENTRE_POINT = 4  # of KNEEL's 16 points the middle one of the 9 along the tibia, which its own crops are centred on
SIDES_ON_FILM = ("R", "L")  # KNEEL's order

Landmark = tuple[str, str, Window]
"""Name of an image, side, part of the film."""


def knees_on_films(
    root: Path, films: Sequence[ImageFile], path: str, findings: Findings
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
    findings.warning("landmarks of images that are not there", wrong["nowhere"])
    findings.error("landmarks whose image may be several films: name it by its path", wrong["ambiguous"])
    findings.error("knees with more than one landmark", wrong["twice"])
    return windows, sha256


def _films_by_name(films: Sequence[ImageFile]) -> dict[str, set[str]]:
    """Return all that a film may be called → the paths of the films it may be."""
    named: dict[str, set[str]] = defaultdict(set)
    for film in films:
        paths = (film.path, "/".join(film.path.split("/")[-6:]), film.path.rsplit("/", 1)[-1])
        for name in (*paths, *(os.path.splitext(path)[0] for path in paths), paths[-1].split(".")[0]):
            named[name].add(film.path)
        for months in (f"{film.months}", f"{film.months:02d}"):
            named[f"{film.subject}_{months}"].add(film.path)
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
            found.append((image, side, Window(x, y, width, MILLIMETRES)))
    findings.warning("landmarks left out, which lack an image, a side R or L, or a number x, y, width", wrong)
    return found, table.sha256


def _kneel(path: Path) -> tuple[list[Landmark], str]:
    content, sha256 = read_content(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            check_bytes(path, sum(member.file_size for member in packed.infolist()))
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            points, names = np.asarray(arrays["preds"], dtype=float), arrays["imgs"].astype(str).tolist()
    except Exception as error:  # a decoder fed damaged bytes raises nearly anything
        raise ValueError(f"{path} is not KNEEL's output, with arrays called preds and imgs: {error}") from None
    if points.shape != (len(names), 2, 16, 2):
        raise ValueError(f"{path} holds preds of shape {points.shape}: KNEEL's output has ({len(names)}, 2, 16, 2)")
    found = [
        (name, side, Window(float(x), float(y), None, MILLIMETRES))
        for name, knees in zip(names, points[:, :, CENTRE_POINT], strict=True)
        for side, (x, y) in zip(SIDES_ON_FILM, knees, strict=True)
        if math.isfinite(x) and math.isfinite(y)  # KNEEL's NaN: it found no knee
    ]
    return found, sha256
