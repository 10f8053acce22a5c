"""A home directory for libraries that cannot do without one, such as in a container whose user has none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def usable_home(warn: Callable[[str], None]) -> Iterator[None]:
    """Have a temporary HOME for the block where it is no folder, or cannot be written to.

    Ray Tune, MLflow and torch fail without any, and matplotlib wants to write there. A folder that can only be read
    stays HOME for all others, as weights and tokens may lie there.
    """
    home = os.path.expanduser("~")
    if os.path.isdir(home) and os.access(home, os.W_OK | os.X_OK):
        yield
        return
    name = "MPLCONFIGDIR" if os.path.isdir(home) else "HOME"
    before = os.environ.get(name)
    if name != "HOME" and before:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="fmim-home-", ignore_cleanup_errors=True) as folder:
        warn(f"HOME ({home}) cannot be written to: what programs keep there for the next time, such as fonts, is lost")
        os.environ[name] = folder
        try:
            yield
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before
