"""Files of a folder, and what else may stand at a path: a pipe may never end and a device has no end."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def other_than_file(path: str | Path) -> str | None:
    """Return in words what a path, or the end of the links at it, is in place of a regular file; None where it is one.

    Raises:
        OSError: there is nothing, or it may not be looked at.
    """
    mode = os.stat(path).st_mode
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")


def files_below(
    root: Path, depth: int | None = None, closed: Callable[[OSError], object] | None = None
) -> Iterator[str]:
    """Yield the files in `root` and below, relative to it, in order; links are followed, no folder twice.

    Hidden files and folders and those of studies are left out.

    Args:
        depth: of the folders that are looked into. closed: is told of each folder that cannot be opened.
    """
    seen = set()
    for folder, below, names in os.walk(root, onerror=closed, followlinks=True):
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        parts = [] if inside == "." else inside.split("/")
        real = os.path.realpath(folder)
        # A folder that was seen: a link that leads back up, perhaps.
        if real in seen or "study.json" in names or (depth is not None and len(parts) > depth):
            below.clear()
            continue
        seen.add(real)
        below[:] = sorted(name for name in below if not name.startswith("."))
        yield from ("/".join((*parts, name)) for name in sorted(names) if not name.startswith("."))
