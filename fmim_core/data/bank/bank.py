"""The bank: every image of a data set decoded once, in one memory-mapped file with its indexes beside it."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import SourceDescription
from fmim_core.fingerprint import fingerprint
from fmim_core.machine import cores
from fmim_core.metric_names import INTERVALS, Interval
from fmim_core.records import Damaged, check_is_file, read_file, read_json, write_text

SCHEMA = 3
FILES = ("bank.json", "images.u8", "development.csv", "test.csv")
STAMP = "checked.json"
"""The file that keeps the state of the files when they were last found intact; without it, all are read again."""


@dataclass(frozen=True, eq=False)
class Bank:
    """A built bank on disk; pickles as its path, and opens its images only when asked for them.

    `summary` holds the counts of both sides ("development", "test"; see `ImageSet.summary`), so that a plan can
    state the size of the test set without opening it. `sha256` are those of the files beside `bank.json`, by name, and
    `blocks` those of every `block_images` images.
    """

    path: Path
    size: int
    count: int
    fingerprint: str
    description: SourceDescription
    summary: dict[str, Any]
    warnings: tuple[str, ...]
    sha256: dict[str, str]
    block_images: int
    blocks: tuple[str, ...]

    @classmethod
    def open(cls, path: str | Path) -> Bank:
        """Open the bank in the folder `path`.

        Raises:
            ValueError: there is no such folder.
            Damaged: `bank.json` is missing or not what was written, or `images.u8` has not its size; whether all else
                is what was built, `check` says.
        """
        path = Path(path).absolute()  # workers run in another folder
        try:
            about = read_json(path / "bank.json", "bank.json")
        except FileNotFoundError:
            if path.is_dir():
                raise _damaged(path, "bank.json is missing") from None
            raise ValueError(f"there is no bank in {path}: `fmim data prepare` builds it") from None
        except Damaged as damaged:
            raise _damaged(path, str(damaged)) from None
        if not isinstance(about, dict) or about.get("schema") != SCHEMA:
            given = about.get("schema") if isinstance(about, dict) else about
            raise _damaged(path, f"bank.json has schema {given!r}, but this version reads schema {SCHEMA}")
        try:
            blocks = about["blocks"]
            if len(blocks["sha256"]) != -(-about["count"] // blocks["images"]):
                raise KeyError("a SHA-256 for each block")
            bank = cls(
                path=path,
                description=SourceDescription(**about["description"]),
                warnings=tuple(about["warnings"]),
                block_images=blocks["images"],
                blocks=tuple(blocks["sha256"]),
                sha256=about["files"],
                **{key: about[key] for key in ("size", "count", "fingerprint", "summary")},
            )
        except (KeyError, TypeError, ZeroDivisionError) as error:
            raise _damaged(path, f"bank.json has a missing or an unknown entry: {error}") from None
        images, expected = path / "images.u8", bank.count * math.prod(bank.shape)
        if (found := images.stat().st_size if images.is_file() else 0) != expected:
            raise _damaged(path, f"images.u8 has {found} bytes instead of {expected}")
        return bank

    def __reduce__(self) -> tuple[Any, ...]:
        return Bank.open, (str(self.path),)

    def check(self) -> None:
        """Make sure that every byte is what was built; quick where a stamp remembers that it was so.

        The stamp has each file's size, times of change and of status change, and inode. A write sets the first time,
        and no program can set the second; a copy has another inode. A fault of the disk itself, under an unchanged
        file, is not seen.

        Raises:
            Damaged: something was changed or is missing; the message says which file and which images.
            ValueError: a file cannot be read.
        """
        try:
            for name in FILES:
                check_is_file(self.path / name, name)
            states = {name: (self.path / name).stat() for name in FILES}  # before anything is read
            files = {name: [of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino] for name, of in states.items()}
            stamp = json.dumps({"content": self.fingerprint, "files": files})
            with suppress(OSError, ValueError):
                if read_file(self.path / STAMP) == stamp.encode():
                    return
            self._check_content()
        except Damaged as damaged:
            raise _damaged(self.path, str(damaged)) from None
        except FileNotFoundError as error:
            raise _damaged(self.path, f"{Path(error.filename).name} is missing") from None
        except OSError as error:
            raise ValueError(f"{error.filename} cannot be read: {error.strerror}") from None
        with suppress(OSError):  # on a read-only file system each start reads everything
            write_text(self.path / STAMP, stamp)

    def _check_content(self) -> None:
        if self.fingerprint != content_fingerprint(self.size, self.sha256, self.description):
            raise Damaged("bank.json was changed after the bank was built")
        changed = [name for name in ("development.csv", "test.csv") if sha256_of(self.path / name) != self.sha256[name]]
        step, length = self.block_images, self.block_images * math.prod(self.shape)
        found = hash_all((self.path / "images.u8", n * length, length) for n in range(len(self.blocks)))
        changed += [
            f"images.u8 (rows {n * step} to {min((n + 1) * step, self.count) - 1})"
            for n, (is_, was) in enumerate(zip(found, self.blocks, strict=True))
            if is_ != was
        ]
        if changed:
            what = ", ".join([*changed[:5], *(["..."] if len(changed) > 5 else [])])
            raise Damaged(f"{what} changed after the bank was built")

    @property
    def shape(self) -> tuple[int, ...]:
        """Return that of an image: `(H, W)`, or `(H, W, 3)`."""
        return self.description.shape(self.size)

    @property
    def images(self) -> np.ndarray:
        """Return all images, uint8 `(N, H, W)` or `(N, H, W, 3)`, memory-mapped and read-only."""
        return np.memmap(self.path / "images.u8", dtype=np.uint8, mode="r", shape=(self.count, *self.shape))

    @property
    def interval(self) -> Interval:
        """Return the unit of time by which queries are grouped."""
        return INTERVALS[self.description.interval]

    def development(self) -> ImageSet:
        """Return the images that may be trained on, searched on and selected on."""
        return ImageSet.of(self._index("development.csv"), self.images, self.interval)

    def open_test(self) -> ImageSet:
        """Return the test images. Call it once, after selection is fixed: nothing else reads the test index."""
        return ImageSet.of(self.about_test(), self.images, self.interval)

    def about_test(self) -> pd.DataFrame:
        """Return all that is known of the test images, in the order of `open_test`, with which it belongs.

        The columns are those of `source.EVERY_COLUMN` that the data set has, and `row`.
        """
        return self._index("test.csv")

    def _index(self, name: str) -> pd.DataFrame:
        try:
            content = read_file(self.path / name, name)
            if hashlib.sha256(content).hexdigest() != self.sha256[name]:
                raise Damaged(f"{name} was changed after the bank was built")
        except Damaged as damaged:
            raise _damaged(self.path, str(damaged)) from None
        except OSError as error:
            raise _damaged(self.path, f"{name} cannot be read ({error.strerror})") from None
        # All as text first: a subject may well be called "NA" or "007", and months must come back exactly.
        index = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
        index["months"] = [float(months or "nan") for months in index["months"]]
        return index


def content_fingerprint(size: int, sha256: dict[str, str], description: SourceDescription) -> str:
    """Return a bank's fingerprint: of its images' side, files' SHA-256 but `bank.json`'s, and what was `chosen`."""
    return fingerprint({"size": size, **sha256, **description.chosen})


def _damaged(path: Path, why: str) -> Damaged:
    return Damaged(f"the bank in {path} is damaged: {why}")


def sha256_of(path: Path, start: int = 0, length: int = -1) -> str:
    """Return the SHA-256 (hex) of `length` bytes of a file from `start`, or of all that there are."""
    with path.open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(length)).hexdigest()


def hash_all(parts: Iterable[tuple[Path, int, int]]) -> Iterator[str]:
    """Yield `sha256_of` of each `(path, start, length)`, in order; threads suffice, since hashing releases the lock."""
    with ThreadPoolExecutor(cores()) as pool:
        yield from pool.map(lambda part: sha256_of(*part), parts)
