"""Runs the Python files of a study that is declared outside this package: from disk, or as they were recorded."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from fmim_core.records import Code, CodeFile

PACKAGES = ("fmim", "fmim_core", "fmim_spaces", "fmim_reports")


def run_file(path: Path) -> ModuleType:
    """Run a file as the module of its name. It may import the modules of its folder, as in `python my_study.py`.

    An edited file is read anew: what was imported from the folder before is forgotten.

    Raises:
        ValueError: the name is no module's, or that of another module.
    """
    _check_name(path)
    _forget(name for name, _ in _modules_of(path.parent))
    sys.meta_path[:] = [finder for finder in sys.meta_path if not _has_recorded(finder, [path.stem])]
    folder = str(path.parent)
    sys.path[:] = [folder, *(entry for entry in sys.path if entry != folder)]
    importlib.invalidate_caches()
    return importlib.import_module(path.stem)


def code_of(path: Path) -> Code:
    """The text of a file that has run, and of the modules of its folder that are imported now."""
    others = sorted({file for _, file in _modules_of(path.parent)} - {path})
    return Code(files=tuple(_read(file, path.parent) for file in (path, *others)))


def run_code(code: Code) -> ModuleType:
    """Run recorded files, in a process that may not have them on its disk.

    They are modules of the same names; a file that they open by a path beside them is not there.
    """
    _forget(file.module for file in code.files)
    names = [file.module for file in code.files]
    others = [finder for finder in sys.meta_path if not _has_recorded(finder, names)]
    sys.meta_path[:] = [CodeFinder(code.files), *others]
    return importlib.import_module(code.main.module)


class CodeFinder(MetaPathFinder, InspectLoader):
    """Imports modules from their recorded text."""

    def __init__(self, files: Sequence[CodeFile]) -> None:
        self._files = {file.module: file for file in files}

    def has_any(self, names: Iterable[str]) -> bool:
        """Whether a module of one of these names is among its own."""
        return not self._files.keys().isdisjoint(names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of that name, if it is one of these."""
        file = self._files.get(fullname)
        if file is None:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=file.path, is_package=file.is_package)

    def is_package(self, fullname: str) -> bool:
        """Whether the module is a folder's."""
        return self._files[fullname].is_package

    def get_source(self, fullname: str) -> str:
        """Its text, which tracebacks show."""
        return self._files[fullname].text

    def get_code(self, fullname: str) -> CodeType:
        """The module, compiled under its path."""
        return self.source_to_code(self.get_source(fullname), self._files[fullname].path)


def _has_recorded(finder: Any, names: Iterable[str]) -> bool:
    return isinstance(finder, CodeFinder) and finder.has_any(names)


def _check_name(path: Path) -> None:
    if not path.stem.isidentifier():
        raise ValueError(f"{path.name} cannot be imported: name it with letters, digits and _ alone, e.g. my_study.py")
    known = sys.modules.get(path.stem)
    place = getattr(known, "__file__", None) if known else _place_of(path.stem)
    if place is not None and Path(place).resolve() != path:
        raise ValueError(f"{path.name} has the name of another module, {place}: rename the file, e.g. my_study.py")


def _place_of(module: str) -> str | None:
    spec = importlib.util.find_spec(module)
    return spec.origin if spec else None


def _modules_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """Modules that are imported from a folder, which is on Python's path, by name: those of packages in it too."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        within = folder.joinpath(*name.split("."))
        if isinstance(file, str) and is_own(file, folder):
            place = Path(file).resolve()
            if place in (within.with_suffix(".py"), within / "__init__.py"):
                yield name, place


def is_own(file: str, folder: Path) -> bool:
    """Whether a file lies in the folder, and is of none of this project's packages (the folder may be its checkout)."""
    place = Path(file).resolve()
    ours = (Path(str(_place_of(package))).parent for package in PACKAGES)
    return place.is_relative_to(folder) and not any(place.is_relative_to(package) for package in ours)


def _forget(names: Iterable[str]) -> None:
    for name in list(names):
        sys.modules.pop(name, None)


def _read(file: Path, folder: Path) -> CodeFile:
    try:
        return CodeFile.of(file.relative_to(folder).as_posix(), file.read_bytes().decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is no UTF-8 text ({error}): save it as UTF-8") from error
