"""A bank's images in blocks: how many each has, and the SHA-256 of blocks of a file, on all cores."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fmim_core.machine import cores

BLOCK_IMAGES, BLOCK_BYTES = 256, 2**25  # whichever is less: what a build holds in memory, and what a crash may cost
READ_BYTES = 2**20


def images_per_block(size: int) -> int:
    """Images of `size` × `size` pixels in each block but the last. Other numbers would not make another bank."""
    return max(1, min(BLOCK_IMAGES, BLOCK_BYTES // size**2))


def sha256_of(path: Path, start: int = 0, length: int | None = None) -> str:
    """SHA-256 (hex) of `length` bytes of a file from `start`, or of the rest; of what there is if it ends before."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(READ_BYTES))
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        left = os.fstat(file.fileno()).st_size if length is None else length
        while left > 0 and (got := file.readinto(buffer[: min(left, READ_BYTES)])):
            digest.update(buffer[:got])
            left -= got
    return digest.hexdigest()


def hash_all(parts: Iterable[tuple[Path, int, int]]) -> Iterator[str]:
    """`sha256_of` of each `(path, start, length)`, in order; threads suffice, since hashing releases the lock."""
    with ThreadPoolExecutor(cores()) as pool:
        yield from pool.map(lambda part: sha256_of(*part), parts)
