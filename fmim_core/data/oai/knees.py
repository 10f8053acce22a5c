"""Images of single knees: crops, parts of films, or what the tables say was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fmim_core.data.listings.window import Window
from fmim_core.data.oai.files import Files
from fmim_core.data.oai.landmarks import knees_on_films
from fmim_core.data.oai.metadata import Knee
from fmim_core.data.tables.findings import Findings


@dataclass(frozen=True)
class KneeImage:
    """One knee at one visit: a file or, with `window`, a part of one; without a `path`, only known from the tables."""

    name: str
    knee: Knee
    path: str | None = None
    window: Window | None = None


def knees_read(grades: Mapping[Knee, str]) -> list[KneeImage]:
    """Return a knee image for each knee that was read, in order of ID, visit and side: what there should be."""
    return [KneeImage("_".join(map(str, knee)), knee) for knee in sorted(grades)]


def knees_in_files(root: Path, files: Files, findings: Findings) -> tuple[list[KneeImage], dict[str, str]]:
    """Return the knee of each crop, or both knees of each film; and name → SHA-256 of the landmarks that were used.

    Raises:
        ValueError: no images, or films without landmarks that can be read.
    """
    findings.warning("image files left out, whose path does not tell ID, visit and side", files.unread)
    if not files.images:
        raise ValueError(
            f"{root} has no knee images, in it or below. Give crops called <ID>_<months>_…_<L or R>.png, or films in "
            "<months>m/<group>/<ID>/<date>/<exam>/ with their landmarks; --metadata-only does without"
        )
    if not files.films:
        crops = files.images
        return [KneeImage(crop.path, (crop.subject, crop.months, crop.side), crop.path) for crop in crops], {}
    if files.landmarks is None:
        raise ValueError(
            f"{root} has films of both knees ({files.images[0].path}, …) and no landmarks: give KNEEL's output "
            "(preds_unpadded.npz), or landmarks.csv with the columns image, side, x, y and, where films do not state "
            "their pixel spacing, width"
        )
    windows, sha256 = knees_on_films(root, files.images, files.landmarks, findings)
    knees = [
        KneeImage(f"{film.path}#{side}", (film.subject, film.months, side), film.path, windows[film.path, side])
        for film in files.images
        for side in "RL"
        if (film.path, side) in windows
    ]
    paths = [film.path for film in files.images]
    without = [f"{path} {side}" for path in paths for side in "RL" if (path, side) not in windows]
    findings.warning("knees on films without landmarks, left out", without)
    both = [path for path in paths if (path, "R") in windows and (path, "L") in windows]
    findings.error(
        "films whose right knee is right of the left one: a film's left half shows the patient's right knee",
        [path for path in both if windows[path, "R"].x >= windows[path, "L"].x],
    )
    scaled = ("", ".dcm")  # a DICOM file may have any name, and may state its pixel spacing
    findings.error(
        "films that are not DICOM need the width of a knee in pixels in the landmarks",
        [
            f"{path}#{side}"
            for (path, side), window in windows.items()
            if window.width is None and Path(path).suffix.lower() not in scaled
        ],
    )
    return knees, {files.landmarks: sha256}
