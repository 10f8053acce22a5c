"""A bank that is being built: the folder it lies in until it is whole, and what an earlier build has left there."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from fmim_core.data.bank.bank import hash_all
from fmim_core.data.images.limits import ImageProblem
from fmim_core.records import check_place

BLOCK_IMAGES, BLOCK_BYTES = 256, 2**25  # whichever is less: what a build holds in memory, and what a crash may cost
LOG, IMAGES = "blocks.jsonl", "bank/images.u8"

ImageOutcome = ImageProblem | str | None
"""Of reading an image: what is wrong with it, or a remark on it, or neither."""


@contextmanager
def building_folder(folder: Path) -> Iterator[Path]:
    """Yield `folder` to one process at a time; others wait.

    Where the lock cannot be had, on a file system without locks or in another user's folder, yield a folder that is
    gone afterwards: processes then build side by side without harm, and the first bank that is finished counts.
    """
    check_place(folder.parent)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_suffix(".lock")
    with ExitStack() as opened:
        try:
            opened.enter_context(_locked(lock))
        except OSError:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix=folder.name, dir=folder.parent)))
        else:
            opened.callback(lock.unlink, missing_ok=True)
        yield folder


def _locked(path: Path) -> TextIO:
    """Open and lock a file, once nobody else has; raise `OSError` where it cannot be locked."""
    while True:
        file = path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:  # whoever had it has removed it
            pass
        except OSError:
            file.close()
            raise
        file.close()


class Block(NamedTuple):
    """A written block of images: its first row, their SHA-256, and the key of each (None: unusable)."""

    start: int
    sha256: str
    keys: list[str | None]


class Partial:
    """The content of a `building_folder`: `bank`, which is to become the bank, and a log of its written blocks.

    `keys` has one text an image, which changes whenever the image may have changed: by it an image of an earlier build
    is found. Nothing is taken that has not the SHA-256 of its block in the log. `find` may be called by any thread, all
    else by one.
    """

    def __init__(self, folder: Path, keys: list[str], shape: tuple[int, ...]) -> None:
        self._bytes = math.prod(shape)
        self.bank, self.step = folder / "bank", max(1, min(BLOCK_IMAGES, BLOCK_BYTES // self._bytes))
        self._folder, self._keys, self._opened = folder, keys, ExitStack()
        self.bank.mkdir(parents=True, exist_ok=True)
        self._images = os.open(folder / IMAGES, os.O_RDWR | os.O_CREAT, 0o666)
        self._opened.callback(os.close, self._images)
        self._log = self._opened.enter_context((folder / LOG).open("a", encoding="utf-8"))
        self._log.write("\n")  # ends a line that a crash tore
        self._written = {block.start: block for block in self._verified()}
        places = ((key, block.start + n) for block in self._written.values() for n, key in enumerate(block.keys))
        self._rows = {key: row for key, row in places if key}

    def __enter__(self) -> Partial:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def check_room(self) -> None:
        """Raise a `ValueError` if the disk is too full for the images that are not written yet."""
        needed = len(self._keys) * self._bytes - os.fstat(self._images).st_blocks * 512
        if needed > (free := shutil.disk_usage(self.bank).free):
            raise ValueError(
                f"the bank needs {needed} more bytes, but {self._folder.parent} has only {free} free: "
                "make room, choose another folder or a smaller size"
            )

    def find(self, row: int, out: np.ndarray) -> bool:
        """Copy the image of that row, uint8 of the shape, to `out` if an earlier build has it.

        An earlier block than the row's own may be written to meanwhile: what it had is not taken.
        """
        place = self._rows.get(self._keys[row], -1)
        return place >= row - row % self.step and os.preadv(self._images, [out.data], place * out.nbytes) == out.nbytes

    def write(self, start: int, images: np.ndarray, outcomes: list[ImageOutcome]) -> str:
        """Write the block at `start` and note it in the log, unless it stands there already; return its SHA-256.

        An image with a problem has no key in the log: it will be read again.
        """
        pairs = zip(self._keys[start : start + len(outcomes)], outcomes, strict=True)
        keys = [None if isinstance(outcome, ImageProblem) else key for key, outcome in pairs]
        if (written := self._written.get(start)) and written.keys == keys:
            return written.sha256
        content, offset = images.data.cast("B"), start * self._bytes
        while count := os.pwrite(self._images, content, offset):
            content, offset = content[count:], offset + count
        block = Block(start, hashlib.sha256(images.data).hexdigest(), keys)
        self._log.write(json.dumps(block._asdict()) + "\n")
        self._log.flush()
        return block.sha256

    def flush(self) -> None:
        """Have the disk write the images, so that neither a power cut nor late times of change can spoil the bank."""
        os.ftruncate(self._images, len(self._keys) * self._bytes)
        os.fsync(self._images)

    def become(self, place: Path) -> None:
        """Put the bank in its place, whole, and remove what it was made from unless something else lies there."""
        try:
            self.bank.rename(place)
        except OSError:
            if not place.exists():  # otherwise another process was first, with the same content
                raise
            shutil.rmtree(self.bank)
        (self._folder / LOG).unlink()
        with suppress(OSError):
            self._folder.rmdir()

    def _verified(self) -> list[Block]:
        """Return the blocks of the log whose images are those that were written; the last line about a block counts."""
        blocks = {}
        for line in (self._folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, TypeError):  # a line that a crash tore or damaged
                block = Block(**json.loads(line))
                blocks[block.start] = block
        size, images = self._bytes, self._folder / IMAGES
        found = hash_all((images, block.start * size, len(block.keys) * size) for block in blocks.values())
        return [block for block, sha256 in zip(blocks.values(), found, strict=True) if sha256 == block.sha256]
