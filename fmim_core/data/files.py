"""What stands at a path: only regular files are opened, since a pipe may never end and a device has no end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def other_than_file(path: str | Path) -> str | None:
    """What the path, or the end of the links at it, is in place of a regular file, in words; None where it is one.

    Raises:
        OSError: there is nothing, or it may not be looked at.
    """
    mode = os.stat(path).st_mode
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")
