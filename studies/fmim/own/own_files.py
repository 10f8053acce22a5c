"""Import a study's own files from the text that is recorded of them: no bytecode, and no file that is not recorded."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from fmim.own.imports import imported_files, is_own


class _TextLoader(SourceFileLoader):
    """A loader that compiles a recorded text. Without the time of a file Python neither reads nor writes bytecode."""

    def __init__(self, name: str, path: Path, text: str) -> None:
        super().__init__(name, str(path))
        self._content = text.encode()

    def path_stats(self, path: Any) -> Any:
        raise OSError

    def get_data(self, path: Any) -> bytes:
        return self._content if path == self.path else super().get_data(path)


class OwnFiles(MetaPathFinder):
    """A study's own files, which Python finds as usual, but compiles from the text that is kept here.

    Args:
        folder: their `__file__`, and the data that they read beside it, are there.
        places: the folders where Python finds them: that one, or one with their copy; a file without a text is refused.
        texts: by path in the folder; without any, files are read as they are imported, while `reading`.
    """

    def __init__(self, folder: Path, places: Sequence[Path], texts: Mapping[str, str] | None = None) -> None:
        self.folder, self._places = folder, places
        self.reading, self.texts = texts is None, dict(texts or {})
        self._path, self._aside = list[str](), dict[str, ModuleType]()  # before they were entered

    def add(self, name: str) -> None:
        """Read a file of the folder; raise a `ValueError` where it is no Python text in UTF-8."""
        file = self.folder / name
        if file.suffix != ".py":
            raise ValueError(f"{file} is not Python text and cannot be recorded: install it as a package")
        try:
            self.texts[name] = file.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{file} is not UTF-8 text ({error}): save it as UTF-8") from error

    def add_imported(self) -> None:
        """Read all files that imports of these lead to, late ones too."""
        roots = [self.folder, *(Path(entry) for entry in sys.path if self._holds(entry))]
        left = [*self.texts]
        for name in left:  # which grows
            for file in imported_files(self.folder / name, self.texts[name], roots):
                if (found := self._name(file)) and found not in self.texts:
                    self.add(found)
                    left.append(found)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import a module, as Python finds it; one of these files with its text.

        Raises:
            ImportError: it is a file of theirs that is not recorded, and no other module has that name.
        """
        spec = PathFinder.find_spec(fullname, path, target)
        name = self._name(spec.origin) if spec and spec.origin else None
        if spec is None or name is None:
            return spec
        if self.reading and name not in self.texts:
            self.add(name)
        if name not in self.texts:
            other = PathFinder.find_spec(fullname, [entry for entry in path or sys.path if not self._holds(entry)])
            if other is None:
                what = f"{self.folder / name} is not recorded with the study, because no import statement names it"
                raise ImportError(f"{what}: import it at the top of the study's file")
            return other
        file, within = self.folder / name, spec.submodule_search_locations
        loader = _TextLoader(fullname, file, self.texts[name])
        return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=within)

    def enter(self) -> None:
        """Let Python import these files; set aside what the program has imported of the folder or by their names."""
        names = {"__main__": False} | {name.partition("/")[0].removesuffix(".py"): True for name in self.texts}
        for name, module in [*sys.modules.items()]:
            if names.get(name.partition(".")[0], self._name(getattr(module, "__file__", None) or "")):
                self._aside[name] = sys.modules.pop(name)
        self._path = [*sys.path]
        sys.path[:0] = dict.fromkeys(map(str, self._places))
        sys.meta_path.insert(sys.meta_path.index(PathFinder), self)
        importlib.invalidate_caches()

    def leave(self) -> None:
        """Forget what was imported of them, and put back what was set aside."""
        for name, module in [*sys.modules.items()]:
            if isinstance(getattr(module, "__loader__", None), _TextLoader):
                del sys.modules[name]
        sys.modules.update(self._aside)
        sys.meta_path.remove(self)
        sys.path[:] = [
            *(entry for entry in sys.path if entry not in self._path and not self._holds(entry)),
            *self._path,
        ]

    def _name(self, file: str | Path) -> str | None:
        """Return the path, in the folder or its copy, of a file of the study's; None of another."""
        places = (place for place in self._places if is_own(file, place))
        return next((Path(file).relative_to(place).as_posix() for place in places), None)

    def _holds(self, entry: str) -> bool:
        return any(Path(os.path.abspath(entry)).is_relative_to(place) for place in self._places)  # '' is where we are
