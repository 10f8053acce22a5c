"""Studies in your own files: run the files or their copy, return the study, and report errors by file and line."""

from __future__ import annotations

import ast
import atexit
import importlib
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from fmim.declare import Study
from fmim.own.imports import is_own, place_of_module
from fmim.own.own_files import OwnFiles
from fmim_core.config import InvalidConfig, in_words, wrong_field
from fmim_core.records import Code, CodeFile
from fmim_core.suggestions import did_you_mean_path

GUARD = 'put this below `if __name__ == "__main__":`'


def is_study_file(study: str) -> bool:
    """Return whether this names a file rather than a study of the catalogue."""
    return study.endswith(".py")


def read_study_file(path: Path) -> Study:
    """Return the study that a file declares, with its text, and those of the modules beside it that it imports.

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


def run_file(path: Path) -> tuple[ModuleType, Code]:
    """Run a file as the module of its name; return it with its text, and those of all that it may import beside it.

    Raises:
        ValueError: the name is no module's, or that of another module; a text is not UTF-8; or the file runs a study
            or ends the program where it is imported, or changes torch's default dtype.
    """
    if any(files.reading for files in _entered()):
        raise ValueError(f"{path.name} runs a study while it is imported: {GUARD}")
    forget_others()
    _check_name(path)
    files = OwnFiles(path.parent, [path.parent])
    files.add(path.name)
    files.add_imported()
    module = _import(path.stem, files)
    files.add_imported()  # what has only been found by running it leads to others
    files.reading = False
    names = [path.name, *sorted({*files.texts} - {path.name})]
    return module, Code(files=tuple(CodeFile.of(name, files.texts[name]) for name in names), folder=str(path.parent))


def run_code(code: Code, folder: Path, alone: bool = False) -> ModuleType:
    """Run recorded files from their copy in a study's folder, or from a temporary one where there can be no copy.

    Args:
        alone: whether this process runs nothing else, and no other file may be imported from where they lay.

    Raises:
        ValueError: one fails; names file and line.
    """
    forget_others()
    folder = folder.resolve()  # as Python names the files that it finds there
    home = (folder.parent / (code.folder or folder)).resolve()
    try:
        code.write(folder)
    except OSError:  # somebody else's folder, or a medium that can only be read
        folder = Path(tempfile.mkdtemp(prefix="fmim-code-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        code.write(folder)
    if not (home / code.main.path).is_file():  # else data that they read lie there
        home = folder
    files = OwnFiles(home, [folder, home] if alone else [folder], {file.path: file.text for file in code.files})
    with located(home):
        return _import(code.main.path.removesuffix(".py"), files)


def forget_others() -> None:
    """Forget the modules of studies' own files: an edited one is read anew, and another's have the same names."""
    for files in _entered():
        files.leave()


def _entered() -> list[OwnFiles]:
    return [finder for finder in sys.meta_path if isinstance(finder, OwnFiles)]


def _import(module: str, files: OwnFiles) -> ModuleType:
    """Import one of the files, as a program without arguments; all can be imported from now on, unless it fails."""
    argv, working = sys.argv, os.getcwd()
    files.enter()
    sys.argv = [str(files.folder / f"{module}.py")]
    try:
        imported = importlib.import_module(module)
        _check_dtype(files)
    except BaseException as error:
        forget_others()
        if isinstance(error, SystemExit):
            raise ValueError(f"sys.exit({error.code!r}) ends the program when the file is imported: {GUARD}") from error
        raise
    finally:
        sys.argv = argv
        os.chdir(working)
    return imported


def _check_dtype(files: OwnFiles) -> None:
    """Raise a `ValueError` if torch's default dtype has been changed, and put it back."""
    torch = sys.modules.get("torch")
    if torch is not None and (given := torch.get_default_dtype()) != torch.float32:
        torch.set_default_dtype(torch.float32)
        name, text = next((one for one in files.texts.items() if "set_default_" in one[1]), ("", ""))
        place = f"{files.folder / name}, line {text.partition('set_default_')[0].count(chr(10)) + 1}"
        raise ValueError(f"{place}: the file sets torch's default dtype to {given}: leave it at {torch.float32}")


def _check_name(path: Path) -> None:
    if not path.stem.isidentifier():
        raise ValueError(f"{path.name} cannot be imported: name it with only letters, digits and _, e.g. my_study.py")
    place = place_of_module(path.stem)
    if place is not None and Path(place).resolve() != path:
        raise ValueError(f"{path.name} has the name of another module, {place}: rename the file, e.g. my_study.py")


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
    constants = (node for node in ast.walk(ast.parse(text.encode())) if isinstance(node, ast.Constant))
    return sorted((word for word in constants if isinstance(word.value, str)), key=lambda word: word.lineno)


def _line_of_argument(file: Path, line: int, argument: str) -> int:
    """Return the line of an argument of the call at a line; that line itself where it is not written there."""
    calls = [node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.Call)]
    within = [call for call in calls if call.lineno <= line <= (call.end_lineno or call.lineno)]
    lines = [given.value.lineno for call in within for given in call.keywords if given.arg == argument]
    return lines[-1] if lines else line
