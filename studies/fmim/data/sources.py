"""`--data NAME|FILE`: which data set a study runs on. A named one is a file of `fmim_core/data/sets/`."""

from __future__ import annotations

import os
from pathlib import Path

from fmim.declare import Preset
from fmim_core.data.sets.base import DATA_SETS, Listing
from fmim_core.data.sets.manifest import manifest
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PHANTOM
from fmim_core.suggestions import did_you_mean, did_you_mean_path


def find_data_set(data: str, root: Path | None, preset: Preset, seed: int, metadata_only: bool = False) -> Listing:
    """List the data set of that name, or the manifest of that path, in `root` if that is given, usable or not.

    Raises:
        ValueError: neither a known name nor a file, or tables that cannot be read.
    """
    if data == PHANTOM:
        return Listing.of(PhantomSource(preset.phantom), preset.phantom.mirror_right)
    return find_listing(data, root, seed, metadata_only)


def check_data(data: str, root: Path | None) -> None:
    """Look for a data set without reading it.

    Raises:
        ValueError: neither a known name nor a file, or a named one in files without its folder.
    """
    kinds = DATA_SETS.kinds()
    if data in kinds and (root is None or not root.is_dir()):
        given = "none is given" if root is None else f"{root} is not a folder"
        raise ValueError(f"{data} needs --data-root, the folder it was downloaded to; {given}")
    path, known = (root or Path()) / data, (PHANTOM, *kinds)
    if data in known or os.path.isfile(path):
        return
    if os.path.lexists(path):
        what = "a folder" if path.is_dir() else "a pipe or a device, which cannot be read twice"
        raise ValueError(
            f"--data {path} is {what}: give the path of a manifest (a CSV file), or one of {', '.join(known)}, "
            "those in files with their folder as --data-root"
        )
    if path.suffix or len(path.parts) > 1:
        raise ValueError(f"no such file: {path}{did_you_mean_path(path)}")
    raise ValueError(
        f"unknown data set {str(path)!r}: give one of {', '.join(known)}, or the path of a manifest (a CSV file)"
        f"{did_you_mean(data, known) or did_you_mean_path(path)}"
    )


def find_listing(
    data: str, root: Path | None, seed: int = 0, metadata_only: bool = False, for_study: bool = True
) -> Listing:
    """List a data set in files, usable or not, with all that was found wrong with it.

    Args:
        seed: draws the test subjects of a manifest that does not say.
        for_study: whether a manifest must have all that a study needs (`manifest`); named data sets have.

    Raises:
        ValueError: neither a known name nor a file, a named one without its folder, or tables that cannot be read.
    """
    check_data(data, root)
    if data in DATA_SETS.kinds():
        assert root is not None
        return DATA_SETS.make({"kind": data}).listing(root, metadata_only)
    return manifest((root or Path()) / data, seed=seed, metadata_only=metadata_only, for_study=for_study)
