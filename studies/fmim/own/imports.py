"""Tell which files are a study's own, and which of them its import statements lead to."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from fmim_core.registry import PLUGINS


@cache
def packages_with_kinds() -> dict[str, str | None]:
    """Return this project's packages and those installed that register kinds, all of which every process finds."""
    installed = {entry.module.partition(".")[0] for entry in entry_points(group=PLUGINS)}
    return {name: place_of_module(name) for name in {"fmim", "fmim_core", "fmim_spaces", "fmim_reports"} | installed}


def place_of_module(module: str) -> str | None:
    """Return the file from which Python imports a module; None where there is none."""
    spec = importlib.util.find_spec(module)
    return spec.origin if spec else None


def is_own(file: str | Path, folder: Path) -> bool:
    """Return whether a file is a module below the folder, and of no package with kinds.

    The folder may be this project's checkout, or hold an environment, whose folders are no names of modules.
    """
    place = Path(file)
    if place == folder or not place.is_relative_to(folder):
        return False
    *folders, name = place.relative_to(folder).parts
    named = all(part.isidentifier() for part in (*folders, name.partition(".")[0]))
    return named and not any(place.is_relative_to(Path(one).parent) for one in packages_with_kinds().values() if one)


def imported_files(file: Path, text: str, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that a file's imports name, those within functions too."""
    try:
        tree = ast.parse(text.encode())
    except SyntaxError:  # Python tells of it where the file is imported
        return
    for level, name in _imported_names(tree):
        parts = name.split(".")
        # Python has these before it looks into a script's folder.
        taken = parts[0] in packages_with_kinds() or parts[0] in sys.stdlib_module_names & sys.modules.keys()
        for start in [file.parents[level - 1]] if level else [] if taken else roots:
            for place in (start.joinpath(*parts[:count]) for count in range(1, len(parts) + 1)):
                found = (place / "__init__.py", place.with_name(f"{place.name}.py"))
                yield from [one for one in found if one.is_file()][:1]


def _imported_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the number of dots before it, and the name, of all that may be a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((0, one.name) for one in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from ((level, f"{module}.{one.name}" if module else one.name) for one in names)
