"""Files that are written whole or not at all: records, checkpoints, reports and everything else that must survive."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any


class Damaged(ValueError):
    """A file does not hold what was written to it; the message names it, and says what is wrong."""


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that another one can take its name; nothing is deleted. Returns its new place."""
    place = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
    path.rename(place)
    return place


def now() -> str:
    """The time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `path` when the block ends without an error.

    A reader, a crash or a power cut sees the old file or the new one, never half of one: the content is on the disk
    before the name points to it. Folders are made as needed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file by `replacing`."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Write a text file as UTF-8 by `replacing`."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Write JSON by `replacing`.

    NaN and infinities are written as Python's json does (`NaN`, `Infinity`), so that they stay what they are.
    """
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_json(path: Path, where: str = "") -> Any:
    """The content of a JSON file, which errors call `where`, or else by its path.

    Raises:
        Damaged: not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # the latter of a hundred thousand brackets
        raise Damaged(f"{where or path} is not readable JSON ({error}): move it aside to go on") from error
