"""Run the Python files of a study that is declared outside this package: the user's, or their copy in its folder.

One study's files are importable at a time: those of the next one take the place of its modules.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from fmim_core.records import Code, CodeFile

PACKAGES = ("fmim", "fmim_core", "fmim_spaces", "fmim_reports")


class OwnFolder(str):
    """The entry of `sys.path` that is the folder of a study's own files."""

    before: frozenset[str]  # what had been imported before

    def modules(self) -> dict[str, Path]:
        """Return what was imported from it since, early or late, with the files."""
        files = {name: getattr(sys.modules[name], "__file__", None) for name in {*sys.modules} - self.before}
        return {name: Path(file) for name, file in files.items() if file and is_own(file, Path(self))}


def run_file(path: Path) -> tuple[ModuleType, Code]:
    """Run a file as the module of its name; return it with its text and that of what it imports from its folder.

    Raises:
        ValueError: the name is no module's, or that of another module; or a text is not UTF-8.
    """
    forget_others()
    _check_name(path)
    folder = _made_importable(path.parent)
    module = importlib.import_module(path.stem)
    others = sorted({*folder.modules().values()} - {path})
    return module, Code(files=tuple(_read(file, path.parent) for file in (path, *others)))


def run_code(code: Code, folder: Path) -> ModuleType:
    """Run recorded files from their copy in a study's folder, or from a temporary one where there can be no copy."""
    forget_others()
    try:
        code.write(folder)
    except OSError:  # somebody else's folder, or a medium that can only be read
        folder = Path(tempfile.mkdtemp(prefix="fmim-code-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        code.write(folder)
    _made_importable(folder)
    return importlib.import_module(code.main.module)


def forget_others() -> None:
    """Forget the modules of studies' own files: an edited one is read anew, and another's have the same names."""
    for entry in [entry for entry in sys.path if isinstance(entry, OwnFolder)]:
        for name in entry.modules():
            del sys.modules[name]
        sys.path.remove(entry)


def _made_importable(folder: Path) -> OwnFolder:
    entry = OwnFolder(folder)
    entry.before = frozenset(sys.modules)
    sys.path.insert(0, entry)
    importlib.invalidate_caches()
    return entry


def is_own(file: str | Path, folder: Path) -> bool:
    """Return whether a file is a module below the folder, and of none of this project's packages.

    The folder may be this project's checkout, or hold an environment, whose folders are no names of modules.
    """
    place = Path(file)
    if not place.is_relative_to(folder):
        return False
    names = place.relative_to(folder).with_suffix("").parts
    return all(name.isidentifier() for name in names) and not any(map(place.is_relative_to, _package_folders()))


@cache
def _package_folders() -> tuple[Path, ...]:
    return tuple(Path(str(_place_of(package))).parent for package in PACKAGES)


def _check_name(path: Path) -> None:
    if not path.stem.isidentifier():
        raise ValueError(f"{path.name} cannot be imported: name it with letters, digits and _ alone, e.g. my_study.py")
    place = _place_of(path.stem)
    if place is not None and Path(place).resolve() != path:
        raise ValueError(f"{path.name} has the name of another module, {place}: rename the file, e.g. my_study.py")


def _place_of(module: str) -> str | None:
    spec = importlib.util.find_spec(module)
    return spec.origin if spec else None


def _read(file: Path, folder: Path) -> CodeFile:
    try:
        return CodeFile.of(file.relative_to(folder).as_posix(), file.read_bytes().decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no UTF-8 text ({error}): save it as UTF-8") from error
