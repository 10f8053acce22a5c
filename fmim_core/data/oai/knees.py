"""The images of single knees: crops, halves of films, or what the tables say was read."""

from __future__ import annotations

import os
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
    """A knee image for each knee that was read, in order of ID, visit and side: what there should be."""
    return [
        KneeImage(f"{subject}_{months}_{side}", (subject, months, side)) for subject, months, side in sorted(grades)
    ]


def knees_in_files(root: Path, files: Files, findings: Findings) -> tuple[list[KneeImage], dict[str, str]]:
    """The knee of each crop, or both knees of each film; and name → SHA-256 of the landmarks that were used.

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
    return _knees_of_films(root, files, files.landmarks, findings)


def _knees_of_films(
    root: Path, files: Files, landmarks: str, findings: Findings
) -> tuple[list[KneeImage], dict[str, str]]:
    windows, sha256 = knees_on_films(root, files.images, landmarks, findings)
    knees, without = [], []
    for film in files.images:
        for side in "RL":
            if window := windows.get((film.path, side)):
                knee = (film.subject, film.months, side)
                knees.append(KneeImage(f"{film.path}#{side}", knee, film.path, window))
            else:
                without.append(f"{film.path} {side}")
    findings.warning("knees on films without landmarks, left out", without)
    mirrored = [
        film.path
        for film in files.images
        if (right := windows.get((film.path, "R"))) and (left := windows.get((film.path, "L"))) and right.x >= left.x
    ]
    findings.error(
        "films whose right knee is right of the left one: a film's left half shows the patient's right knee", mirrored
    )
    scaled = ("", ".dcm")  # a DICOM file may have any name, and may state its pixel spacing
    unscaled = [
        knee.name
        for knee in knees
        if knee.window and knee.window.width is None and os.path.splitext(knee.path or "")[1].lower() not in scaled
    ]
    findings.error("films that are not DICOM need the width of a knee in pixels in the landmarks", unscaled)
    return knees, {landmarks: sha256}
