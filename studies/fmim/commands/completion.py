"""What a shell completes: names of studies, presets and data sets, and files and folders that fit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def complete_study(incomplete: str) -> list[str]:
    """Studies of the catalogue, and Python files."""
    from fmim import catalogue

    return _begin(incomplete, catalogue.names()) + _paths(incomplete, "*.py")


def complete_preset(incomplete: str) -> list[str]:
    """The presets that most studies have."""
    from fmim.declare.presets import PRESETS

    return _begin(incomplete, (preset.name for preset in PRESETS))


def complete_data(incomplete: str) -> list[str]:
    """Named data sets, and tables."""
    from fmim_core.data.sets.base import DATA_SETS
    from fmim_core.data.sets.phantom_config import PHANTOM

    return _begin(incomplete, (PHANTOM, *DATA_SETS.kinds())) + _paths(incomplete, "*.csv")


def complete_out(incomplete: str) -> list[str]:
    """Folders."""
    return _paths(incomplete)


def _begin(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _paths(incomplete: str, pattern: str = "") -> list[str]:
    """Folders, and files of a pattern, each as it continues what was typed."""
    folder, _, start = incomplete.rpartition("/")
    place = Path(f"{folder}/" if folder or incomplete.startswith("/") else ".")
    if not place.is_dir():
        return []
    before = incomplete.removesuffix(start)
    found = place.glob(pattern) if pattern else ()
    files = [before + path.name for path in found if path.is_file() and path.name.startswith(start)]
    folders = [f"{before}{path.name}/" for path in place.iterdir() if path.is_dir() and path.name.startswith(start)]
    return sorted(files) + sorted(one for one in folders if not one.removeprefix(before).startswith("."))
