"""Studies in your own files: run the files or their copy, return the study, and report errors by file and line."""

from __future__ import annotations

import ast
import atexit
import importlib
import importlib.util
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from fmim.declare import Study
from fmim_core.config import InvalidConfig, in_words, wrong_field
from fmim_core.records import Code, CodeFile
from fmim_core.suggestions import did_you_mean_path


def is_study_file(study: str) -> bool:
    """Return whether this names a file rather than a study of the catalogue."""
    return study.endswith(".py")


def read_study_file(path: Path) -> Study:
    """Return the study that a file declares, with its text and that of the modules of its folder that it imports.

    Raises:
        ValueError: there is no such file, it cannot be run, or it declares no study; names file and line.
    """
    if not path.is_file():
        hint = did_you_mean_path(path) or f". `fmim new {path.stem}` writes one to start from"
        raise ValueError(f"no such file: {path}{hint}")
    path = path.resolve()
    with located(path.parent):
        module, code = run_file(path)
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        given = "it has no STUDY" if study is None else f"its STUDY is {study!r}"[:80]
        raise ValueError(f"{path} must declare a study as STUDY = Study(name=…, …); {given}")
    return study.model_copy(update={"code": code})


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
        folder = scratch_folder()
        code.write(folder)
    _made_importable(folder)
    return importlib.import_module(code.main.module)


def scratch_folder() -> Path:
    """Return a new folder, which is there until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="fmim-code-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


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
        raise ValueError(f"{path.name} cannot be imported: name it with only letters, digits and _, e.g. my_study.py")
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
        raise ValueError(f"{file} is not UTF-8 text ({error}): save it as UTF-8") from error


@contextmanager
def located(folder: Path | None) -> Iterator[None]:
    """Have errors of the block that come from a Python file in the folder, if there is one, name file and line.

    Raises:
        ValueError: instead of such an error; others pass.
    """
    try:
        yield
    except Exception as error:
        fault = _fault(error, folder) if folder else None
        if fault is None:
            raise
        raise ValueError(fault) from error


def _fault(error: Exception, folder: Path) -> str | None:
    if isinstance(error, SyntaxError) and error.filename and is_own(error.filename, folder):
        return f"{error.filename}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}"
    frames = [frame for frame in _frames(error) if is_own(frame.filename, folder)]
    if not frames:
        return None
    file, line = frames[-1].filename, frames[-1].lineno or 1
    if isinstance(error, ValidationError):
        argument = wrong_field(error).partition(".")[0]
        return f"{file}, line {_line_of_argument(Path(file), line, argument)}: {error.title}: {in_words(error)}"
    said = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return f"{file}, line {line}: {said}"


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the calls that led to an error, and then those that led to the one it was raised from."""
    before = _frames(error.__cause__) if error.__cause__ else []
    return [*traceback.extract_tb(error.__traceback__), *before]


def place_of(refused: InvalidConfig, code: Code) -> str:
    """Return the file and line that name the field which was refused; the study's file alone where none does."""
    parents = refused.field.split(".")
    above = (".".join(parents[:n]) for n in range(len(parents) - 1, 0, -1))
    wanted = [refused.field, f"{refused.field}.kind", parents[-1], *above]  # nested settings have its last name alone
    words = [(word.value, f"{file.path}, line {word.lineno}") for file in code.files for word in _words(file.text)]
    of_name = next((number for number, (word, _) in enumerate(words) if word == refused.name), 0)
    nearest = words[of_name:] + words[:of_name]  # what stands after the name is hardly another one's
    return next((place for name in wanted for word, place in nearest if word == name), code.main.path)


def _words(text: str) -> list[ast.Constant]:
    constants = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return sorted((word for word in constants if isinstance(word.value, str)), key=lambda word: word.lineno)


def _line_of_argument(file: Path, line: int, argument: str) -> int:
    """Return the line of an argument of the call at a line; that line itself where it is not written there."""
    calls = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    within = [call for call in calls if call.lineno <= line <= (call.end_lineno or call.lineno)]
    lines = [given.value.lineno for call in within for given in call.keywords if given.arg == argument]
    return lines[-1] if lines else line
