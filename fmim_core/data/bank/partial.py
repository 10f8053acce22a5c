"""A bank on its way: the folder in which it is built, and what of it is finished when a build is resumed."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from fmim_core.data.bank.blocks import hash_all, images_per_block
from fmim_core.data.images.reading import ImageProblem

LOCK, LOG, IMAGES = "lock", "blocks.jsonl", "bank/images.u8"
SUFFIX = ".partial"

ImageOutcome = ImageProblem | str | None
"""Of reading an image: what is wrong with it, or a remark on it, or neither."""


@contextmanager
def builder(place: Path) -> Iterator[Path | None]:
    """The folder to build the bank of `place` in, for this process alone; None if the bank is there by now.

    Waits while another process builds it. Where the lock cannot be had, on a file system without locks or in another
    user's folder, the folder has a name of its own: processes then build side by side without harm, the first bank
    that is finished counts, and a later build takes the images that a stopped one has finished, but leaves its folder.
    """
    folder = place.with_name(f".{place.name}{SUFFIX}")
    while not place.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            if folder.exists():  # a file of that name
                raise
            continue  # whoever had finished removed the folder between two steps of mkdir
        with ExitStack() as opened:
            try:
                lock = opened.enter_context((folder / LOCK).open("a"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            except FileNotFoundError:  # whoever had it has finished, and removed the folder, just now
                continue
            except OSError:
                folder = place.with_name(f".{place.name}.{uuid.uuid4().hex}{SUFFIX}")
                folder.mkdir()
            else:
                if not _is_open_in(folder, lock.fileno()):
                    continue
                if place.exists():  # finished just before the folder was made again, with nothing in it
                    (folder / LOCK).unlink()
                    with suppress(OSError):
                        folder.rmdir()
                    continue
            yield folder
        with suppress(OSError):  # over NFS the folder could not be removed while the lock in it was open
            folder.rmdir()
        return
    yield None


def _is_open_in(folder: Path, lock: int) -> bool:
    """Whether that is still the folder's lock, and not that of one which was removed meanwhile."""
    try:
        return os.path.samestat(os.fstat(lock), (folder / LOCK).stat())
    except FileNotFoundError:
        return False


@dataclass(frozen=True)
class Finished:
    """A finished block, as the log has it: its first row, and for each image a key (None: unusable) and a remark."""

    start: int
    size: int
    sha256: str
    keys: list[str | None]
    remarks: list[str | None]


class Partial:
    """What is in the folder of a `builder`: `bank`, which is to become the bank, and a log of its finished blocks.

    `keys` has one text an image, which changes whenever the image may have changed. A finished block whose keys are
    still those of its rows stands as it is (`kept`); images in other blocks, and in the folders of other builds that
    were not completed, after the index has changed or an image was mended, are found by their keys (`find`). Nothing
    is taken that has not the SHA-256 of its line in the log. Only the thread that made it may call what is not `find`
    or `write`.
    """

    def __init__(self, folder: Path, name: str, keys: list[str], size: int) -> None:
        self.bank, self.step, self.kept = folder / "bank", images_per_block(size), dict[int, Finished]()
        self._folder, self._keys, self._size = folder, keys, size
        self._others, self._known, self._opened = list[Path](), dict[str, tuple[int, int]](), ExitStack()
        self.bank.mkdir(exist_ok=True)
        self._images = self._open(folder, os.O_RDWR | os.O_CREAT)
        self._log = self._opened.enter_context((folder / LOG).open("a", encoding="utf-8"))
        self._log.write("\n")  # ends a line that a crash tore
        self._take_own()
        self._take_others(name)

    def __enter__(self) -> Partial:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    @property
    def bytes_on_disk(self) -> int:
        """Bytes of the disk that the images have already."""
        return os.fstat(self._images).st_blocks * 512

    def find(self, row: int, out: np.ndarray) -> bool:
        """Copy the image of that row, uint8 `(size, size)`, to `out` if an earlier build has it."""
        if (known := self._known.get(self._keys[row])) is None:
            return False
        return os.preadv(known[0], [out.data], known[1]) == out.nbytes

    def read(self, block: Finished) -> np.ndarray:
        """The images of a block that was kept."""
        images = np.empty((len(block.keys), self._size, self._size), np.uint8)
        os.preadv(self._images, [images.data], block.start * self._size**2)
        return images

    def write(self, start: int, images: np.ndarray) -> str:
        """Write a block's images to their place; returns their SHA-256."""
        content, offset = images.data.cast("B"), start * self._size**2
        while written := os.pwrite(self._images, content, offset):
            content, offset = content[written:], offset + written
        return hashlib.sha256(images.data).hexdigest()

    def finish(self, start: int, sha256: str, outcomes: list[ImageOutcome]) -> Finished:
        """Note in the log that a block is written; an image with a problem will be read again."""
        pairs = zip(self._keys[start : start + len(outcomes)], outcomes, strict=True)
        keys = [None if isinstance(outcome, ImageProblem) else key for key, outcome in pairs]
        remarks = [outcome if isinstance(outcome, str) else None for outcome in outcomes]
        block = Finished(start, self._size, sha256, keys, remarks)
        self._log.write(json.dumps(asdict(block)) + "\n")
        self._log.flush()
        return block

    def flush(self) -> None:
        """Have the disk write the images, so that neither a power cut nor late times of change can spoil the bank."""
        os.fsync(self._images)

    def become(self, place: Path) -> None:
        """Put the bank in its place, whole, and remove what it was made from."""
        try:
            self.bank.rename(place)
        except OSError:
            if not place.exists():  # otherwise another process was first, with the same content
                raise
        _remove(self._folder)
        for folder in self._others:
            _remove_unless_used(folder)

    def _open(self, folder: Path, flags: int) -> int:
        file = os.open(folder / IMAGES, flags, 0o666)
        self._opened.callback(os.close, file)
        return file

    def _take_own(self) -> None:
        for block in _verified(self._folder, _logged(self._folder, self._size)):
            keys = self._keys[block.start : block.start + self.step]
            if block.keys == keys:
                self.kept[block.start] = block
            else:  # images that have moved are not known: their place may be written to before they are copied
                in_place = [key if key == was else None for key, was in zip(keys, block.keys, strict=False)]
                self._know(replace(block, keys=in_place), self._images)

    def _take_others(self, name: str) -> None:
        kept = {key for block in self.kept.values() for key in block.keys}
        missing = set(self._keys) - kept - self._known.keys()
        for folder in self._folder.parent.iterdir():
            if folder == self._folder or not (folder.name.startswith(f".{name}-") and folder.name.endswith(SUFFIX)):
                continue
            try:
                wanted = [block for block in _logged(folder, self._size) if missing.intersection(block.keys)]
                if blocks := _verified(folder, wanted):
                    file = self._open(folder, os.O_RDONLY)
                    for block in blocks:
                        self._know(block, file)
                    self._others.append(folder)
            except OSError:  # completed and removed just now, or another user's: its images are decoded again
                continue

    def _know(self, block: Finished, file: int) -> None:
        for row, key in enumerate(block.keys, block.start):
            if key is not None and key not in self._known:
                self._known[key] = (file, row * self._size**2)


def _logged(folder: Path, size: int) -> list[Finished]:
    """The finished blocks of images of that size; the last line about a block counts."""
    blocks = {}
    for line in (folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines():
        with suppress(ValueError, TypeError):  # a line that a crash tore or damaged
            block = Finished(**json.loads(line))
            blocks[block.start] = block
    return [block for block in blocks.values() if block.size == size]


def _verified(folder: Path, blocks: list[Finished]) -> list[Finished]:
    """The blocks whose images are those that were written."""
    parts = [(folder / IMAGES, block.start * block.size**2, len(block.keys) * block.size**2) for block in blocks]
    return [block for block, found in zip(blocks, hash_all(parts), strict=True) if found == block.sha256]


def _remove_unless_used(folder: Path) -> None:
    """Remove the folder of a build that nobody is at, as far as locks can tell."""
    with suppress(OSError), (folder / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove what a build has left, and its folder, unless somebody has put something else there."""
    shutil.rmtree(folder / "bank", ignore_errors=True)
    with suppress(OSError):
        (folder / LOG).unlink()
        (folder / LOCK).unlink()
        folder.rmdir()
