"""A bank's images in blocks: how many each has, and the SHA-256 of blocks of a file, on all cores."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fmim_core.machine import cores

BLOCK_IMAGES, BLOCK_BYTES = 256, 2**25  # whichever is less: what a build holds in memory, and what a crash may cost


def images_per_block(size: int) -> int:
    """Return how many images of `size` × `size` pixels a block has. Other numbers would not make another bank."""
    return max(1, min(BLOCK_IMAGES, BLOCK_BYTES // size**2))


def sha256_of(path: Path, start: int = 0, length: int = -1) -> str:
    """Return the SHA-256 (hex) of `length` bytes of a file from `start`, or of all that there are."""
    with path.open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(length)).hexdigest()


def hash_all(parts: Iterable[tuple[Path, int, int]]) -> Iterator[str]:
    """Yield `sha256_of` of each `(path, start, length)`, in order; threads suffice, since hashing releases the lock."""
    with ThreadPoolExecutor(cores()) as pool:
        yield from pool.map(lambda part: sha256_of(*part), parts)
