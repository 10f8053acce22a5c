"""The bank: every image of a data set decoded once, in one memory-mapped file with its indexes beside it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.config import fingerprint
from fmim_core.data.image_set import ImageSet
from fmim_core.data.images import ImageProblem, appearance
from fmim_core.data.source import ABOUT_COLUMNS, INDEX_COLUMNS, Source, SourceDescription

SCHEMA = 2
SIZES = range(8, 2049)  # sides in pixels that a bank may have
BLOCK = 256  # images in memory at once while a bank is built

Progress = Callable[[int, int], None]
"""Called as `progress(images done, images in all)`."""


@dataclass(frozen=True, eq=False)
class Bank:
    """A built bank on disk; pickles as its path, and opens its images only when asked for them.

    `summary` holds the counts of both sides ("development", "test"; see `ImageSet.summary`), so that a plan can
    state the size of the test set without opening it.
    """

    path: Path
    size: int
    count: int
    fingerprint: str
    description: SourceDescription
    summary: dict[str, Any]
    warnings: tuple[str, ...]
    sha256: dict[str, str]

    @classmethod
    def open(cls, path: str | Path) -> Bank:
        """Open the bank in the folder `path`.

        Raises:
            ValueError: there is no bank, it was written by another version, or its files are damaged.
        """
        path = Path(path).absolute()  # workers run in another folder
        try:
            about = json.loads((path / "bank.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ValueError(f"no bank in {path}: it has no bank.json. Build it with build_bank.") from None
        except ValueError as error:
            raise _damaged(path, f"bank.json cannot be read ({error})") from None
        if not isinstance(about, dict) or about.get("schema") != SCHEMA:
            given = about.get("schema") if isinstance(about, dict) else about
            raise _damaged(path, f"bank.json has schema {given!r}, this version reads {SCHEMA}")
        try:
            bank = cls(
                path=path,
                description=SourceDescription(**about["description"]),
                warnings=tuple(about["warnings"]),
                **{key: about[key] for key in ("size", "count", "fingerprint", "summary", "sha256")},
            )
        except (KeyError, TypeError) as error:
            raise _damaged(path, f"bank.json lacks or has too much: {error}") from None
        expected, found = bank.count * bank.size**2, _file_size(path / "images.u8")
        if found != expected:
            raise _damaged(path, f"images.u8 has {found} bytes, {expected} expected")
        return bank

    def __reduce__(self) -> tuple[Any, ...]:
        return Bank.open, (str(self.path),)

    @property
    def images(self) -> np.ndarray:
        """All images, uint8 `(N, H, W)`, memory-mapped and read-only."""
        shape = (self.count, self.size, self.size)
        return np.memmap(self.path / "images.u8", dtype=np.uint8, mode="r", shape=shape)

    def development(self) -> ImageSet:
        """The images that may be trained on, searched on and selected on."""
        return self._image_set("development.csv")

    def open_test(self) -> ImageSet:
        """The test images. Call it once, after selection is fixed: nothing else reads the test index."""
        return self._image_set("test.csv")

    def _image_set(self, name: str) -> ImageSet:
        try:
            content = (self.path / name).read_bytes()
        except OSError as error:
            raise _damaged(self.path, f"{name} cannot be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != self.sha256[name]:
            raise _damaged(self.path, f"{name} was changed after the bank was built")
        # All as text first: a subject may well be called "NA" or "007", and months must come back exactly.
        index = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
        index["months"] = [float(months or "nan") for months in index["months"]]
        return ImageSet.of(index, self.images)


def development_index(source: Source, size: int) -> ImageSet:
    """The development images of a source before any is decoded: who and when, enough to check a plan.

    Raises:
        ValueError: the index is not usable.
    """
    index = _checked(source.index)
    return ImageSet.of(index[index["split"] == "train"], np.empty((0, size, size), np.uint8))


def build_bank(source: Source, size: int, root: str | Path, progress: Progress | None = None) -> Bank:
    """Decode every image of `source` at `size` × `size` pixels into a bank under `root`, or reuse it if it is there.

    The folder is `<name>-<12 hex of source fingerprint and size>`. It is built beside its place and renamed, so
    a bank is there whole or not at all, and processes that build the same one at once do not harm each other.
    The bank's own fingerprint covers the decoded content alone: copied images give the same one.

    Raises:
        ValueError: the size or the index is not usable, some images cannot be read (all are tried, the first ten
            named), the disk is too full, or the bank that is there is damaged.
    """
    if size not in SIZES:
        raise ValueError(f"image size {size!r} is not allowed: give whole pixels from {SIZES[0]} to {SIZES[-1]}")
    name = f"{source.description.name}-{fingerprint([SCHEMA, source.fingerprint, size])[:12]}"
    place = Path(root).absolute() / name
    if place.exists():
        return Bank.open(place)
    index = _checked(source.index)
    place.parent.mkdir(parents=True, exist_ok=True)
    needed, free = len(index) * size**2, shutil.disk_usage(place.parent).free
    if needed > free:
        raise ValueError(
            f"a bank of {len(index)} images at {size} x {size} needs {needed} bytes, {place.parent} has {free} "
            f"free: make room, choose another folder or a smaller size"
        )
    scratch = place.parent / f".{name}.{uuid.uuid4().hex}"
    scratch.mkdir()
    try:
        _write(source, index, size, scratch, progress)
        try:
            scratch.rename(place)
        except OSError:
            if not place.exists():  # otherwise another process was first, with the same content
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Bank.open(place)


def _write(source: Source, index: pd.DataFrame, size: int, folder: Path, progress: Progress | None) -> None:
    digest, problems, warnings = hashlib.sha256(), [], []
    with (folder / "images.u8").open("wb") as file:
        for row, image in enumerate(_decoded(source, len(index), size)):
            if isinstance(image, ImageProblem):
                problems.append(str(image))
            elif not problems:
                content = np.ascontiguousarray(image).tobytes()
                file.write(content)
                digest.update(content)
                if remark := appearance(image):
                    warnings.append(f"{index['image'].iloc[row]}: {remark}")
            if progress:
                progress(row + 1, len(index))
    if problems:
        raise ValueError(_listed(f"{len(problems)} of {len(index)} images cannot be used", problems))
    sets, sha256 = {}, {"images.u8": digest.hexdigest()}
    for split, side in (("train", "development"), ("test", "test")):
        part = index[index["split"] == split]
        content = part.to_csv(index=False, lineterminator="\n").encode()
        (folder / f"{side}.csv").write_bytes(content)
        sha256[f"{side}.csv"] = hashlib.sha256(content).hexdigest()
        sets[side] = ImageSet.of(part, np.empty((0, size, size), np.uint8)).summary()
    about = {
        "schema": SCHEMA,
        "fingerprint": fingerprint({"size": size, **sha256}),
        "size": size,
        "count": len(index),
        "description": asdict(source.description),
        "summary": sets,
        "warnings": warnings,
        "sha256": sha256,
    }
    (folder / "bank.json").write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")


def _decoded(source: Source, count: int, size: int) -> Iterator[np.ndarray | ImageProblem]:
    """Every image in order, or what is wrong with it; threads suffice, since decoders release the lock."""

    def read(row: int) -> np.ndarray | ImageProblem:
        try:
            image = source.read(row, size)
        except ImageProblem as problem:
            return problem
        assert image.shape == (size, size), image.shape
        assert image.dtype == np.uint8, image.dtype
        return image

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for start in range(0, count, BLOCK):
            yield from pool.map(read, range(start, min(start + BLOCK, count)))


def _checked(index: pd.DataFrame) -> pd.DataFrame:
    """The index with its `row`; raises where a source broke its promise, above all about subjects on both sides."""
    if missing := [column for column in INDEX_COLUMNS if column not in index]:
        raise ValueError(f"the index lacks the columns {missing}; it must have {list(INDEX_COLUMNS)}")
    if unknown := sorted(set(index["split"]) - {"train", "test"}):
        raise ValueError(f"split {unknown} is not known: only 'train' and 'test' are")
    by_split = {split: set(index["subject"][index["split"] == split]) for split in ("train", "test")}
    if empty := [split for split, subjects in by_split.items() if not subjects]:
        raise ValueError(f"no image has the split {empty[0]!r}: both 'train' and 'test' need some")
    if both := sorted(by_split["train"] & by_split["test"]):
        raise ValueError(_listed(f"{len(both)} subjects are on both sides of the train/test split", both))
    if not index["side"].isin(["", "L", "R"]).all() or (index["months"] < 0).any():
        raise ValueError("sides must be '', 'L' or 'R', and months 0 or more (NaN where unknown)")
    columns = [name for name in (*INDEX_COLUMNS, *ABOUT_COLUMNS) if name in index]
    return index[columns].assign(row=np.arange(len(index)))


def _listed(what: str, items: list[str]) -> str:
    return "\n  ".join([f"{what}:", *items[:10], *(["..."] if len(items) > 10 else [])])


def _file_size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(f"the bank in {path} cannot be used: {why}. Move the folder away; the next start rebuilds it.")
