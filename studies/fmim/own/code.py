"""Runs the Python files of a study that is declared outside this package: from disk, or as they were recorded.

One study's files are importable at a time: those of the next one take the place of its modules.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from abc import abstractmethod
from collections.abc import Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType

from fmim_core.records import Code, CodeFile

PACKAGES = ("fmim", "fmim_core", "fmim_spaces", "fmim_reports")


def run_file(path: Path) -> tuple[ModuleType, Code]:
    """Run a file as the module of its name; returns it with its text and that of what it imports from its folder.

    Raises:
        ValueError: the name is no module's, or that of another module; or a text is not UTF-8.
    """
    finder = FolderFinder(path.parent)
    forget_others()
    _check_name(path)
    sys.meta_path.insert(0, finder)
    importlib.invalidate_caches()
    module = importlib.import_module(path.stem)
    others = sorted(finder.files - {path})
    return module, Code(files=tuple(_read(file, path.parent) for file in (path, *others)))


def run_code(code: Code) -> ModuleType:
    """Run recorded files, in a process that may not have them on its disk.

    They are modules of the same names; a file that they open by a path beside them is not there.
    """
    forget_others()
    sys.meta_path.insert(0, CodeFinder(code.files))
    return importlib.import_module(code.main.module)


class OwnFinder(MetaPathFinder):
    """Imports a study's own modules."""

    @abstractmethod
    def has(self, module: str) -> bool:
        """Whether it has imported a module of that name."""


class FolderFinder(OwnFinder):
    """Imports modules of a folder, as Python does for the folder of a script, and knows which.

    files: those that were imported.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._names = str(folder), set[str]()
        self.files: set[Path] = set()

    def has(self, module: str) -> bool:
        return module in self._names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of that name, if it lies in the folder or in one of its packages."""
        above, _, _ = fullname.rpartition(".")
        if fullname in PACKAGES or (above and above not in self._names):
            return None
        spec = PathFinder.find_spec(fullname, path if above else [self._folder], target)
        if spec is None or spec.origin is None:  # a folder without modules of its own would hide an installed package
            return None
        self._names.add(fullname)
        self.files.add(Path(spec.origin))
        return spec


class CodeFinder(OwnFinder, InspectLoader):
    """Imports modules from their recorded text."""

    def __init__(self, files: Sequence[CodeFile]) -> None:
        self._files = {file.module: file for file in files}

    def has(self, module: str) -> bool:
        return module in self._files

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


def is_own(file: str, folder: Path) -> bool:
    """Whether a file lies in the folder, and is of none of this project's packages (the folder may be its checkout)."""
    place = Path(file).resolve()
    ours = (Path(str(_place_of(package))).parent for package in PACKAGES)
    return place.is_relative_to(folder) and not any(place.is_relative_to(package) for package in ours)


def forget_others() -> None:
    """Forget the modules of studies' own files: an edited one is read anew, and another's have the same names."""
    finders = [finder for finder in sys.meta_path if isinstance(finder, OwnFinder)]
    for module in [name for name in sys.modules if any(finder.has(name) for finder in finders)]:
        del sys.modules[module]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in finders]


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
