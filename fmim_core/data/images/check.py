"""Checks that need a look at every image, and a search for image files that no table names."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path, PurePath

import numpy as np
import pandas as pd

from fmim_core.data.files import files_below
from fmim_core.data.images.limits import ImageProblem
from fmim_core.data.images.reading import appearance
from fmim_core.data.source import Progress
from fmim_core.data.tables.findings import Findings
from fmim_core.machine import cores

BLOCK = 1024  # images handed to the threads at once; of each a few bytes are kept
MAX_FILES = 500_000  # looked at below a folder, so that a manifest in the wrong place does not read a whole disk
SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".dcm"))


def check_images(
    index: pd.DataFrame,
    rows: Sequence[int],
    read: Callable[[int], np.ndarray],
    loses_colour: Callable[[int], bool],
    findings: Findings,
    progress: Progress | None = None,
) -> None:
    """Decode the images of `rows` and add what is wrong: unreadable, blank, nearly black, the same picture twice.

    `read` gives the image of a row number, or raises `ImageProblem`; `loses_colour` tells whether its file has colours
    that are not read. Pictures are the same if their pixels are, or those of the mirror image: a right knee may be
    stored either way. Under one subject that is a warning; under two an error, since one of the two labels must be
    wrong. Nothing of an image is kept but a digest, so that memory is bounded by what the threads decode at once.
    """
    names = index["image"].tolist()
    unreadable, remarks, alike, faded = [], defaultdict(list), defaultdict(list), []

    def digested(row: int) -> tuple[str | None, str | None, bytes | None, bool]:
        try:
            image = read(row)
        except ImageProblem as problem:
            return problem.reason, None, None, False
        remark = appearance(image)
        return None, remark, None if remark == "blank" else _digest(image), loses_colour(row)

    with ThreadPoolExecutor(cores()) as pool:  # threads suffice, since decoders and digests release the lock
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            for done, (row, seen) in enumerate(zip(block, pool.map(digested, block), strict=True), start + 1):
                problem, remark, picture, fades = seen
                unreadable += [f"{names[row]}: {problem}"] if problem else []
                if remark:
                    remarks[remark].append(names[row])
                if picture:
                    alike[picture].append(row)
                faded += [names[row]] if fades else []
                if progress:
                    progress(done, len(rows))
    findings.error("unreadable images", unreadable)
    findings.warning("images in colour, read in grey (channels = 3 in the table's TOML file keeps colour)", faded)
    for remark, images in sorted(remarks.items()):
        findings.warning(f"{remark} images", images)
    _add_copies(index, alike.values(), findings)


def unnamed_images(root: Path, named: Iterable[str | None], findings: Findings) -> None:
    """Warn of the image files below `root` that are not `named` (relative to it); note where the search stopped."""
    files, known = list(islice(files_below(root), MAX_FILES + 1)), set(named)
    if len(files) > MAX_FILES:
        findings.note(f"folders with over {MAX_FILES} files: only these were looked for in the table", [str(root)])
    unnamed = [path for path in files[:MAX_FILES] if PurePath(path).suffix.lower() in SUFFIXES and path not in known]
    findings.warning("image files that the table does not name", unnamed)


def image_files(root: Path) -> list[Path]:
    """Return the files below `root` that are called like images, in order; as `files_below` finds them."""
    return [root / path for path in files_below(root) if PurePath(path).suffix.lower() in SUFFIXES]


def _digest(image: np.ndarray) -> bytes:
    """Return a digest of shape and pixels that an image and its mirror image share."""
    shape = repr(image.shape).encode()
    return min(hashlib.sha256(shape + pixels.tobytes()).digest() for pixels in (image, image[:, ::-1]))


def _add_copies(index: pd.DataFrame, groups: Iterable[list[int]], findings: Findings) -> None:
    """Name each copy once, beside the first image of its subject or else of the group."""
    same, other = [], []
    for rows in groups:
        first: dict[str, str] = {}  # subject → its first image
        images = dict(zip(index["image"].iloc[rows], index["subject"].iloc[rows], strict=True))  # a name counts once
        for image, subject in images.items():
            if not isinstance(subject, str):
                continue  # a row without a subject has been told
            if subject in first:
                same.append(f"{image} = {first[subject]} (subject {subject})")
            elif first:
                owner, original = next(iter(first.items()))
                other.append(f"{image} (subject {subject}) = {original} (subject {owner})")
            first.setdefault(subject, image)
    findings.warning("copies: the same picture twice for one subject", same)
    findings.error("the same picture for two subjects: one of them is wrong", other)
