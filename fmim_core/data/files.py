"""Files of a folder and below it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path


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
