"""`--data NAME|FILE`: which data set a study runs on. To add a named one: its line in `DATA_SETS`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fmim_core.data.manifest import ManifestSource
from fmim_core.data.phantom import PhantomSource
from fmim_core.data.source import Source
from studies.declare import Preset

DATA_SETS: dict[str, Callable[[Preset], Source]] = {
    "phantom": lambda preset: PhantomSource(preset.phantom),
}


def find_source(data: str, root: Path | None, preset: Preset, seed: int) -> Source:
    """The data set of that name, or the manifest of that path, in `root` if that is given.

    Raises:
        ValueError: neither a known name nor a file, or a manifest that cannot be used.
    """
    if data in DATA_SETS:
        return DATA_SETS[data](preset)
    path = (root or Path()) / data
    if not path.is_file():
        known = ", ".join(DATA_SETS)
        raise ValueError(f"unknown data set {str(path)!r}: give one of {known}, or the path of a manifest (a CSV file)")
    return ManifestSource(path, seed=seed)
