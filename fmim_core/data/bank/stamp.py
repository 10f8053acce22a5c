"""A stamp beside files that says they were checked, so that the next start need not read them all again.

It holds each file's size, times of change and of status change, and inode. A write sets the first time, and no program
can set the second; a copy has another inode. So a stamp that still fits speaks of the same bytes, whoever wrote it, and
processes on other machines that share the folder may trust it. A fault of the disk itself, under an unchanged file, is
not seen: remove the stamp to have everything read again. Where the folder cannot be written to there is no new stamp,
and each start reads everything.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = "checked.json"


def is_stamped(folder: Path, names: Sequence[str], content: str) -> bool:
    """Whether these files are as they were when they were last found to have the content of that fingerprint.

    A file system's clock has ticks. A change within the tick of the change before leaves the same time, so a stamp
    counts only if it was begun after that tick, by the clock of the same file system.
    """
    stamp = folder / NAME
    try:
        stamped, begun = json.loads(stamp.read_text(encoding="utf-8")), stamp.stat().st_mtime_ns
        files = _files(folder, names)
    except (OSError, ValueError):
        return False
    return bool(stamped == {"content": content, "files": files} and begun > _last_change(files))


@contextmanager
def stamping(folder: Path, names: Sequence[str], content: str) -> Iterator[None]:
    """Stamp the files if the block, which checks that they have that content, raises nothing."""
    draft = folder / f".{NAME}.{uuid.uuid4().hex}"
    # Without a stamp the next start reads everything again, on a read-only file system for example: no error.
    with suppress(OSError):
        # Written before the check begins: what changes from here on has a later time than the stamp says.
        files = _files(folder, names)
        for _ in range(10):
            draft.write_text(json.dumps({"content": content, "files": files}), encoding="utf-8")
            if draft.stat().st_mtime_ns > _last_change(files):
                break
            time.sleep(0.002)  # the files are new, and a tick is a few milliseconds
    try:
        yield
        with suppress(OSError):
            draft.replace(folder / NAME)
    finally:
        with suppress(OSError):
            draft.unlink()


def _files(folder: Path, names: Sequence[str]) -> dict[str, list[int]]:
    found = {name: (folder / name).stat() for name in names}
    return {name: [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino] for name, stat in found.items()}


def _last_change(files: dict[str, list[int]]) -> int:
    return max(max(written, changed) for _, written, changed, _ in files.values())
